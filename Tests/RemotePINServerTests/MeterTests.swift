import Administration
import AttestationVerifier
import AuditLog
import ServerTestSupport
import MetricsEndpoint
import Testing
import TestSupport
import Transport
import Vocabulary
import WalletStore
import Wire

@testable import RemotePINServer

@Suite("The metrics of a server")
struct MeterTests {
    /// The value of a series in a scrape.
    private static func value(_ series: String, of server: InProcessServer) -> Double? {
        let lines = Exposition.text(of: server.metrics).split(separator: "\n")
        return lines.first { $0.hasPrefix(series + " ") }.flatMap { Double($0.dropFirst(series.count + 1)) }
    }

    private static func calls(_ call: String, _ outcome: String, of server: InProcessServer) -> Double? {
        Self.value("remote_pin_calls_total{call=\"\(call)\",outcome=\"\(outcome)\"}", of: server)
    }

    @Test("calls are counted by kind and outcome, and the catalog knows every metric")
    func calls() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            #expect(try await session.check("135790") == wallet.unlockShare.asValid)
            #expect(try await session.check("000000").isWrong)
            #expect(try await session.answer(.linkRecoveryCode("NL-7"), pin: "135790") == .recoveryCodeLinked)
            let unknown = DeletionCode.random().characters
            #expect(await session.connection.answer(.revokeWithCode(unknown)) == .other("not recognised"))
            #expect(await session.connection.answer(.unknown) == .refused(.unsupported))
            let stranger = try await server.endpoint.connect()
            #expect(await stranger.answer(.reportWipe) == .refused(.notAllowed))
            for (call, outcome, count) in [
                ("hello", "done", 2), ("begin_enrollment", "done", 1), ("register", "done", 1),
                ("open_session", "done", 1), ("instruct", "done", 3), ("revoke_with_code", "done", 1),
                ("unknown", "unsupported", 1), ("report_wipe", "not_allowed", 1), ("report_wipe", "done", 0),
            ] as [(String, String, Double)] {
                #expect(Self.calls(call, outcome, of: server) == count, "\(call) \(outcome)")
            }
            let figures = server.server.figures
            #expect(figures.validPINs == 2 && figures.wrongPINs == 1 && figures.sessions == 1)
            #expect(figures.connections >= 1 && figures.auditEntries == server.audit.newest.number)
            #expect(Self.value("remote_pin_handshakes_total", of: server) ?? 0 >= 3)
            #expect(server.metrics.refusedSeries == 0)
        }
    }

    @Test("each block is counted once, despite repeated attempts, and by its kind")
    func blocks() async throws {
        var options = InProcessServer.Options()
        options.rules.attempts = try AttemptPolicy(rounds: 2, attemptsPerRound: 1, blocks: [.seconds(60)]).orThrow()
        try await InProcessServer.run(options) { server in
            let session = try await server.wallet().openSession()
            let temporary = "remote_pin_blocks_total{kind=\"temporary\"}"
            let permanent = "remote_pin_blocks_total{kind=\"permanent\"}"
            let attempt = AttemptID.random()
            _ = try await session.instruct(pin: "000000", attemptID: attempt)
            #expect(Self.value(temporary, of: server) == 1)
            // The repeated attempt after a lost reply, and another attempt during the block.
            _ = try await session.instruct(pin: "000000", attemptID: attempt)
            _ = try await session.instruct(pin: "000001")
            #expect(Self.value(temporary, of: server) == 1 && Self.value(permanent, of: server) == 0)
            server.clock.advance(by: .seconds(61))
            _ = try await session.instruct(pin: "000000", attemptID: attempt)
            #expect(Self.value(temporary, of: server) == 1)
            _ = try await session.instruct(pin: "000002")
            _ = try await session.instruct(pin: "135790")
            #expect(Self.value(temporary, of: server) == 1 && Self.value(permanent, of: server) == 1)
            let figures = server.server.figures
            #expect(figures.blockedPINs == 2 && figures.permanentlyBlockedPINs == 1, "\(figures)")
        }
    }

    @Test("revoked wallets are counted once each, by the revoking party, and the solution's revocation counts as one")
    func revocations() async throws {
        try await InProcessServer.run { server in
            func counts() -> [Double?] {
                ["user", "wallet", "recovery_code", "solution"].map {
                    Self.value("remote_pin_revocations_total{kind=\"\($0)\"}", of: server)
                }
            }
            let (lost, told) = (try await server.wallet(), try await server.wallet())
            let (linked, last) = (try await server.wallet(), try await server.wallet())
            let connection = try await server.endpoint.connect()
            let code = try #require(lost.deletionCode).characters
            // At the second time the wallet has already ended.
            for _ in 0..<2 { _ = await connection.answer(.revokeWithCode(code)) }
            #expect(counts() == [1, 0, 0, 0])
            for _ in 0..<2 { try await server.give(RevokeWallets([told.walletID])) }
            #expect(counts() == [1, 1, 0, 0])
            let recovery: RecoveryCode = "NL-999-1234"
            _ = try await linked.openSession().answer(.linkRecoveryCode(recovery), pin: "135790")
            for _ in 0..<2 { try await server.give(RevokeRecoveryCode(recovery)) }
            #expect(counts() == [1, 1, 1, 0])
            for _ in 0..<2 { try await server.give(RevokeSolution()) }
            _ = try await last.openSession()
            try await server.give(RestoreSolution())
            #expect(counts() == [1, 1, 1, 1])
            #expect(server.metrics.refusedSeries == 0)
        }
    }

    @Test("a rejected registration is counted under the failed check")
    func evidence() async throws {
        var options = InProcessServer.Options()
        options.android = { $0.apps = [] }
        try await InProcessServer.run(options) { server in
            await #expect(throws: UnexpectedAnswer.self) { try await server.wallet() }
            let reason = "remote_pin_attestation_refusals_total{reason=\"app_not_configured\"}"
            #expect(Self.value(reason, of: server) == 1)
            #expect(Self.calls("register", "attestation_rejected", of: server) == 1)
        }
    }

    @Test("batches, commits and the vault are measured")
    func store() async throws {
        try await InProcessServer.run { server in
            let session = try await server.wallet().openSession()
            _ = try await session.check("135790")
            let commits = Self.value("remote_pin_store_commit_seconds_count", of: server)
            #expect(commits == Self.value("remote_pin_store_batch_steps_count", of: server))
            #expect(commits ?? 0 >= 4 && Self.value("remote_pin_store_queue_wait_seconds_count", of: server) == commits)
            #expect(Self.value("remote_pin_store_commit_seconds_sum", of: server) ?? 0 > 0)
            #expect(server.store.waitingSteps == 0)
            for operation in ["derive", "open"] {
                let series = "remote_pin_vault_operations_total{operation=\"\(operation)\",outcome=\"done\"}"
                #expect(Self.value(series, of: server) ?? 0 > 0, "\(operation)")
            }
        }
    }

    @Test("a refusal carries the correlation id of its log line, and the id names connection and call")
    func correlation() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            let results = [
                try await session.connection.call(.beginEnrollment, timeout: TestWallet.patience),
                try await session.connection.call(.unknown, timeout: TestWallet.patience),
                try await session.connection.call(.hello(Self.hello), timeout: TestWallet.patience),
            ]
            let ids = results.compactMap { result -> String? in
                guard case .refused(let refusal) = result else { return nil }
                return refusal.correlationID
            }
            try #require(ids.count == 2)
            #expect(ids[0].prefix(10) == ids[1].prefix(10) && ids[0] != ids[1])
            _ = try await session.check("000000")
            let lines = server.log.lines
            for id in ids { #expect(lines.count { $0.contains("refused") && $0.contains("correlation=\(id)") } == 1) }
            // The common prefix of a connection's ids finds its other lines.
            let common = "correlation=\(ids[0].prefix(10))"
            for word in ["connected", "session opened", "wrong PIN"] {
                #expect(lines.contains { $0.contains(word) && $0.contains(common) }, "\(word)")
            }
            // Every line about a connection has an id.
            for line in lines where line.contains("connection=") { #expect(line.contains("correlation="), "\(line)") }
        }
    }

    private static var hello: Hello {
        get throws {
            Hello(
                appVersion: try AppVersion("1.0.0").orThrow(),
                platform: .android,
                osVersion: try DeviceText("16").orThrow()
            )
        }
    }
}
