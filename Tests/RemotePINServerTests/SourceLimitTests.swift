import MetricsEndpoint
import SimulatedPhone
import Secrets
import ServerTestSupport
import TestSupport
import Testing
import Transport
import Vocabulary
import Wire

@testable import RemotePINServer

private let right = "135790"
private let wrong = "000000"
private let untouched = PINState.open(attemptsLeft: 4, finalRound: false)
private let limited = VerdictSummary.refused(.rateLimited(retryAfter: .seconds(1)))

/// Options for a server with small limits per source.
private func options(
    calls: Int? = nil,
    enrollments: Int? = nil
) -> InProcessServer.Options {
    var options = InProcessServer.Options()
    options.rules.sources = SourceLimits(
        calls: calls.map { Allowance(burst: $0, oneMoreEach: .seconds(1)) },
        enrollments: enrollments.map { Allowance(burst: $0, oneMoreEach: .seconds(1)) },
        pause: .zero
    )
    return options
}

@Suite("The limits of one source")
struct SourceLimitTests {
    @Test("a rate-limited PIN is neither judged nor counted, and a right and a wrong one get the same answer")
    func limitedPIN() async throws {
        try await InProcessServer.run(options(calls: 20)) { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            for _ in 0..<20 { #expect(try await session.check(right) == wallet.unlockShare.asValid) }
            for pin in [wrong, right, wrong, wrong, wrong, wrong, right] {
                #expect(try await session.check(pin) == limited)
            }
            // On the server's clock, each second restores one call.
            server.clock.advance(by: .seconds(1))
            #expect(try await session.check(right) == wallet.unlockShare.asValid)
            #expect(try await session.check(wrong) == limited)
            server.clock.advance(by: .seconds(60))
            #expect(try await server.pinState(wallet) == untouched)
        }
    }

    @Test("a rate-limited instruction consumes its counter, and no other one")
    func counter() async throws {
        try await InProcessServer.run(options(calls: 20)) { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            for _ in 0..<20 { _ = try await session.check(right) }
            let early = try session.instructCall(pin: right, counter: 30)
            #expect(await session.connection.answer(.instruct(early)) == limited)
            // The session's counter advances by one.
            #expect(try await session.check(right) == limited)
            server.clock.advance(by: .seconds(1))
            #expect(try await session.check(right) == wallet.unlockShare.asValid)
        }
    }

    @Test("a flood of instructions without a session or out of order is limited like any other call")
    func instructions() async throws {
        try await InProcessServer.run(options(calls: 20)) { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            let early = try session.instructCall(pin: right, counter: 30)
            let flooder = try await server.endpoint.connect()
            for connection in [flooder, session.connection] {
                var answers: [VerdictSummary] = []
                for _ in 0..<60 { answers.append(await connection.answer(.instruct(early))) }
                #expect(answers.first != limited && answers.suffix(30).allSatisfy { $0 == limited })
            }
        }
    }

    @Test("a flood without a wallet does not affect sessions of the same source")
    func sessionAllowance() async throws {
        try await InProcessServer.run(options(calls: 20)) { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            let flooder = try await server.endpoint.connect()
            var answers: [VerdictSummary] = []
            for _ in 0..<60 { answers.append(await flooder.answer(.reportWipe)) }
            #expect(answers.suffix(30).allSatisfy { $0 == limited })
            #expect(try await session.check(right) == wallet.unlockShare.asValid)
            // Newcomers of that source are limited as well.
            await #expect(throws: (any Error).self) { try await server.endpoint.greet() }
        }
    }

    @Test(
        "log lines about refused calls are limited to a burst, then one a second, which reports the suppressed ones"
    )
    func refusalLines() async throws {
        try await InProcessServer.run(options()) { server in
            func lines() -> [String] { server.log.lines.filter { $0.contains(" refused ") } }
            for _ in 0..<2 {
                let connection = try await server.endpoint.connect()
                for _ in 0..<150 { _ = await connection.answer(.reportWipe) }
                // A refused call is logged after its answer, and before the connection's next call.
                try await connection.greet()
                connection.close()
            }
            #expect(lines().count == 100 && lines().allSatisfy { !$0.contains("unwritten") })
            server.clock.advance(by: .seconds(1))
            let connection = try await server.endpoint.connect()
            for _ in 0..<5 { _ = await connection.answer(.reportWipe) }
            try await connection.greet()
            #expect(lines().count == 101 && lines().last?.contains("unwritten=200") == true)
        }
    }

    @Test("concurrent and consecutive connections share one allowance")
    func manyConnections() async throws {
        try await InProcessServer.run(options(calls: 20)) { server in
            var taken = 0
            for _ in 0..<30 {
                let connection = try await server.endpoint.connect()
                if await connection.answer(.reportWipe) != limited { taken += 1 }
                connection.close()
            }
            #expect(taken == 20)
        }
    }

    @Test("a source that has used up its calls can still end a lost phone's wallet")
    func revocation() async throws {
        try await InProcessServer.run(options(calls: 20)) { server in
            let wallet = try await server.wallet()
            let code = try #require(wallet.deletionCode)
            let connection = try await server.endpoint.connect()
            for _ in 0..<30 { _ = await connection.answer(.reportWipe) }
            #expect(await connection.answer(.reportWipe) == limited)
            let answer = try await connection.call(.revokeWithCode(code.characters), timeout: TestWallet.patience)
            guard case .revokeWithCode(.revoked) = answer else {
                Issue.record("\(answer)")
                return
            }
        }
    }

    @Test("enrollments have a separate allowance; PINs are checked while it is used up")
    func enrollments() async throws {
        try await InProcessServer.run(options(enrollments: 5)) { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            let connection = try await server.endpoint.greet()
            for _ in 0..<3 { #expect(await connection.answer(.beginEnrollment) != limited) }
            #expect(await connection.answer(.beginEnrollment) == limited)
            await #expect(throws: UnexpectedAnswer.self) { try await server.wallet() }
            #expect(try await session.check(right) == wallet.unlockShare.asValid)
            server.clock.advance(by: .seconds(2))
            _ = try await server.wallet()
        }
    }

    @Test("a rate-limited enrollment does not consume its token")
    func tokenNotConsumed() async throws {
        try await InProcessServer.run(options(enrollments: 1)) { server in
            let device = try server.device(.init(.android))
            let connection = try await server.endpoint.greet()
            let began = try await connection.call(.beginEnrollment, timeout: TestWallet.patience)
            guard case .beginEnrollment(let enrollment) = began else { throw UnexpectedAnswer(began) }
            let call = try await TestWallet.registration(
                of: device,
                enrollment,
                pair: TestWallet.PINPair(),
                pin: right,
                on: connection
            )
            #expect(await connection.answer(.register(call)) == limited)
            server.clock.advance(by: .seconds(1))
            let result = try await connection.call(.register(call), timeout: TestWallet.patience)
            guard case .register = result else { throw UnexpectedAnswer(result) }
        }
    }

    @Test("a limit changed while a source uses it applies to the next call and gives the source no new burst")
    func changed() async throws {
        func rules(_ burst: Int?) -> SourceLimits {
            let calls = burst.map { Allowance(burst: $0, oneMoreEach: .seconds(1)) }
            return SourceLimits(calls: calls, enrollments: nil, pause: .zero)
        }
        try await InProcessServer.run(options(calls: 20)) { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            func allowed(of calls: Int) async throws -> Int {
                var allowed = 0
                for _ in 0..<calls where try await session.check(right) != limited { allowed += 1 }
                return allowed
            }
            #expect(try await allowed(of: 10) == 10)
            server.server.use(rules(5))
            #expect(try await allowed(of: 3) == 0, "ten calls are more than the new burst")
            // The wait that the refusals named is true: the old debt does not delay the next call.
            server.clock.advance(by: .seconds(1))
            #expect(try await allowed(of: 3) == 1)
            server.server.use(rules(30))
            #expect(try await allowed(of: 40) == 25, "five calls are still owed")
            server.server.use(rules(nil))
            #expect(try await allowed(of: 40) == 40)
            server.server.use(rules(30))
            #expect(try await allowed(of: 3) == 0)
        }
    }

    @Test("the peak of a limit is the largest use by one source within the last minute")
    func peaks() async throws {
        try await InProcessServer.run(options(calls: 100, enrollments: 100)) { server in
            func peak(_ limit: String) async -> String? {
                await server.server.runDueTimers()
                let name = "remote_pin_source_peak{limit=\"\(limit)\"} "
                return Exposition.text(of: server.metrics).split(separator: "\n").first { $0.hasPrefix(name) }
                    .map { String($0.dropFirst(name.count)) }
            }
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            for _ in 0..<30 { _ = try await session.check(right) }
            #expect(await peak("session_calls") == "30")
            // A call after a pause uses less of the burst than those before it.
            server.clock.advance(by: .seconds(60))
            _ = try await session.check(right)
            for _ in 0..<(SourcePeaks.intervals - 2) { #expect(await peak("session_calls") == "30") }
            #expect(await peak("enrollments") == "2")
            #expect(await peak("session_calls") == "1")
            #expect(await peak("connections_per_source") == "0")
            let connections = [try await server.endpoint.connect(), try await server.endpoint.connect()]
            for connection in connections { _ = await connection.answer(.reportWipe) }
            // The connection of the session is open, too.
            #expect(try #require(Int(await peak("connections_per_source") ?? "")) >= 3)
        }
    }

    @Test("rate-limited calls are logged at a limited rate and never with their content")
    func log() async throws {
        try await InProcessServer.run(options(calls: 1)) { server in
            let connection = try await server.endpoint.connect()
            for _ in 0..<50 { _ = await connection.answer(.reportWipe) }
            let lines = server.log.lines.filter { $0.hasPrefix("warning calls are rate-limited") }
            // One line in ten seconds, the time that a busy machine may need for fifty calls.
            #expect((1..<10).contains(lines.count))
            #expect(lines.first?.contains("limit=calls") == true && lines.first?.contains("source=127.0.0.1") == true)
        }
    }
}
