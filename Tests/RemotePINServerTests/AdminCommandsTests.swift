import RemotePINServer
import Secrets
import ServerTestSupport
import TestSupport
import Testing
import Transport
import Vocabulary
import WalletStore
import Wire

/// What a command gave; its failure as an error.
extension AdminCommands {
    func done(_ command: AdminCommand) async throws -> AdminResult {
        let result = await self.carryOut(command, by: InProcessServer.peer)
        if case .failed(let failure) = result { throw failure }
        return result
    }

    fileprivate func report(_ wallet: TestWallet) async throws -> WalletReport {
        guard case .wallet(let report) = try await self.done(.showWallet(wallet.walletID)) else {
            throw UnexpectedAnswer()
        }
        return report
    }
}

@Suite("Admin commands")
struct AdminCommandsTests {
    private static let byOperator = Revocation(reason: .wallet, mayRegisterAnew: true)
    private static let byCode = Revocation(reason: .recoveryCode, mayRegisterAnew: false)
    private static let ofSolution = Revocation(reason: .solution, mayRegisterAnew: false)

    @Test("a lab's clock is moved, and what is then due has happened before the answer")
    func advance() async throws {
        try await InProcessServer.run { server in
            let session = try await server.wallet().openSession()
            let expected = server.clock.now() + .seconds(900)
            #expect(
                await server.commands.carryOut(.advanceClock(by: .seconds(900)), by: InProcessServer.peer)
                    == .clockAdvanced(now: expected)
            )
            #expect(await happens { await session.connection.closed() })
        }
    }

    @Test("outside a lab no command moves time, and an unknown one says so")
    func production() async throws {
        try await InProcessServer.run { server in
            let commands = AdminCommands(of: server.server, advance: nil, operations: server.operations)
            for (command, kind) in [
                (AdminCommand.advanceClock(by: .seconds(1)), AdminFailure.Kind.notAllowed), (.unknown, .unsupported),
            ] {
                guard case .failed(let failure) = await commands.carryOut(command, by: InProcessServer.peer) else {
                    Issue.record("\(command) was done")
                    continue
                }
                #expect(failure.kind == kind)
            }
        }
    }

    @Test("a revoked wallet's open session is told at its next call, and so is every later one")
    func revokeWallet() async throws {
        try await InProcessServer.run { server in
            let (wallet, other) = (try await server.wallet(), try await server.wallet(.iOS))
            let (session, unconcerned) = (try await wallet.openSession(), try await other.openSession())
            #expect(try await session.check("135790") == wallet.unlockShare.asValid)
            let result = try await server.commands.done(.revokeWallets([wallet.walletID]))
            #expect(result == .walletsRevoked(now: 1, before: 0))
            #expect(try await session.check("135790") == .refused(.revoked(Self.byOperator)))
            #expect(try await session.check("000000") == .refused(.revoked(Self.byOperator)))
            guard case .revoked(Self.byOperator) = try await wallet.openSession().opening else {
                Issue.record("not revoked")
                return
            }
            #expect(try await unconcerned.check("135790") == other.unlockShare.asValid)
            let again = try await server.commands.done(.revokeWallets([wallet.walletID, other.walletID]))
            #expect(again == .walletsRevoked(now: 1, before: 1))
            #expect(try await unconcerned.check("135790") == .refused(.revoked(Self.byOperator)))
        }
    }

    @Test("where one wallet is unknown, none is revoked and the unknown ones are named")
    func allOrNone() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            let unknown = WalletID.random()
            guard
                case .failed(let failure) = await server.commands.carryOut(
                    .revokeWallets([wallet.walletID, unknown]),
                    by: InProcessServer.peer
                )
            else {
                Issue.record("it was done")
                return
            }
            #expect(failure.kind == .unknownWallet)
            #expect(failure.sentence.contains("\(unknown)") && !failure.sentence.contains("\(wallet.walletID)"))
            #expect(try await session.check("135790") == wallet.unlockShare.asValid)
            guard
                case .failed(let shown) = await server.commands.carryOut(.showWallet(unknown), by: InProcessServer.peer)
            else {
                Issue.record("it was shown")
                return
            }
            #expect(shown.kind == .unknownWallet)
        }
    }

    @Test("a revocation that returned leaves no share on its way, whatever was in flight", arguments: 0..<3)
    func inFlight(kind: Int) async throws {
        let gate = Gate()
        var options = InProcessServer.Options()
        options.wrapping = { GatedStore(store: $0, gate: gate) }
        try await InProcessServer.run(options) { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            let code = try RecoveryCode([9]).orThrow()
            if kind == 1 {
                #expect(try await session.answer(.linkRecoveryCode([9]), pin: "135790") == .recoveryCodeLinked)
            }
            gate.close()
            // The PIN is judged right, the share read, and the answer is held back just before it leaves.
            async let answer = session.check("135790")
            await gate.isReached()
            let commands: [AdminCommand] = [
                .revokeWallets([wallet.walletID]), .revokeRecoveryCode(code), .revokeSolution,
            ]
            _ = try await server.commands.done(commands[kind])
            gate.open()
            #expect(try await answer == .closed)
        }
    }

    @Test("a recovery code's revocation ends the wallets linked to it, now and later; off the list, new ones can link")
    func recoveryCode() async throws {
        try await InProcessServer.run { server in
            let bytes = Array("NL-999-1234".utf8)
            let code = try RecoveryCode(bytes).orThrow()
            let (linked, later, other) = (
                try await server.wallet(), try await server.wallet(), try await server.wallet()
            )
            let session = try await linked.openSession()
            #expect(try await session.answer(.linkRecoveryCode(bytes), pin: "135790") == .recoveryCodeLinked)
            #expect(try await server.commands.report(linked).isLinkedToRecoveryCode)

            let done = try await server.commands.done(.revokeRecoveryCode(code))
            guard case .recoveryCodeRevoked(let revocation) = done else { throw UnexpectedAnswer() }
            #expect(revocation.revoked == 1 && !revocation.wasDenied)
            #expect(revocation.entry.mac.bytes != bytes && revocation.entry.deniedAt == server.clock.now())
            #expect(try await session.check("135790") == .refused(.revoked(Self.byCode)))
            let late = try await later.openSession()
            #expect(
                try await late.answer(.linkRecoveryCode(bytes), pin: "135790") == .refused(.revoked(Self.byCode))
            )

            let listed = try await server.commands.done(.listDenied(after: nil, limit: 10))
            #expect(listed == .deniedPage(DeniedPage(entries: [revocation.entry], hasMore: false)))
            let report = DeniedReport(mac: revocation.entry.mac, deniedAt: revocation.entry.deniedAt)
            #expect(try await server.commands.done(.showDenied(.code(code))) == .denied(report))
            #expect(try await server.commands.done(.removeDenied(.mac(report.mac))) == .denied(report))
            let gone = DeniedReport(mac: report.mac, deniedAt: nil)
            #expect(try await server.commands.done(.showDenied(.mac(report.mac))) == .denied(gone))
            #expect(try await server.commands.done(.removeDenied(.code(code))) == .denied(gone))

            let fresh = try await other.openSession()
            #expect(try await fresh.answer(.linkRecoveryCode(bytes), pin: "135790") == .recoveryCodeLinked)
            guard case .revoked(Self.byCode) = try await linked.openSession().opening else {
                Issue.record("taking the code off the list revived a wallet")
                return
            }
            #expect(server.log.lines.allSatisfy { !$0.contains("NL-999") }, "no log line holds the code")
        }
    }

    @Test("the solution is revoked for open sessions, Hello and enrollments alike, and restored as it was")
    func solution() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            #expect(try await server.commands.done(.revokeSolution) == .solution(isRevoked: true, changed: true))
            #expect(try await server.commands.done(.revokeSolution) == .solution(isRevoked: true, changed: false))
            #expect(try await session.check("135790") == .refused(.revoked(Self.ofSolution)))
            #expect(try await server.terms().solutionRevoked)
            let connection = try await server.endpoint.greet()
            #expect(await connection.answer(.beginEnrollment) == .refused(.revoked(Self.ofSolution)))
            #expect(try await server.commands.report(wallet).solutionRevoked)
            #expect(try await server.commands.report(wallet).revoked == nil)

            #expect(try await server.commands.done(.restoreSolution) == .solution(isRevoked: false, changed: true))
            #expect(try await !server.terms().solutionRevoked)
            #expect(try await session.check("135790") == wallet.unlockShare.asValid)
        }
    }

    @Test("a wallet's report says what is counted, blocked, linked, attested and revoked, and nothing secret")
    func report() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet(.iOS)
            var report = try await server.commands.report(wallet)
            #expect(!report.sessionOpened && report.lastSession == nil && report.openConnections <= 1)
            let session = try await wallet.openSession()
            let opened = server.clock.now()
            for _ in 0..<3 { #expect(try await session.check("000000").isWrong) }
            report = try await server.commands.report(wallet)
            #expect(report.pin == .init(state: .open(attemptsLeft: 1, finalRound: false), round: 1, failures: 3))
            #expect(report.sessionOpened && report.lastSession == opened && report.openConnections >= 1)
            #expect(report.app.platform == .iOS && report.app.environment == "production")
            #expect(report.assertionCounter != nil && report.attested.contains("SecureEnclave"))
            #expect(report.hasDeletionCode && !report.isLinkedToRecoveryCode && report.revoked == nil)
            #expect(try await session.check("000000").isWrong)
            server.clock.advance(by: .seconds(10))
            report = try await server.commands.report(wallet)
            let blocked = WalletReport.PIN(
                state: .blocked(remaining: .seconds(50)),
                round: 2,
                failures: 4,
                blockedUntil: opened + .seconds(60)
            )
            #expect(report.pin == blocked)
            let share = wallet.unlockShare.exposedBytes()
            let code = try wallet.deletionCode.orThrow().characters
            let bytes = AdminResponse(id: 1, result: .wallet(report)).encoded()
            #expect(!bytes.hex.contains(share.hex) && !bytes.hex.contains(Array(code.utf8).hex))

            _ = try await server.commands.done(.revokeWallets([wallet.walletID]))
            report = try await server.commands.report(wallet)
            #expect(report.revoked == .init(Self.byOperator, at: server.clock.now()))
        }
    }

    @Test("what remains of the last round is blocked for good, in that round")
    func permanent() async throws {
        var options = InProcessServer.Options()
        options.rules.attempts = try AttemptPolicy(rounds: 2, attemptsPerRound: 1, blocks: []).orThrow()
        try await InProcessServer.run(options) { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            #expect(try await session.check("000000").isWrong)
            #expect(
                try await server.commands.report(wallet).pin
                    == .init(state: .open(attemptsLeft: 1, finalRound: true), round: 2, failures: 1)
            )
            #expect(try await session.check("000000").isWrong)
            #expect(
                try await server.commands.report(wallet).pin == .init(state: .blockedPermanently, round: 2, failures: 2)
            )
        }
    }

    @Test("the last session is known after the timers told the store, and after it was asked by another server")
    func lastSession() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            _ = try await wallet.openSession()
            let opened = server.clock.now()
            #expect(try await server.store.report(of: wallet.walletID)?.lastSession == nil)
            _ = try await server.commands.done(.advanceClock(by: .seconds(60)))
            #expect(try await server.store.report(of: wallet.walletID)?.lastSession == opened)
            #expect(try await server.commands.report(wallet).lastSession == opened)
        }
    }

    @Test("a flag counts from a wallet's next session on: for listed wallets, for all, for none")
    func flags() async throws {
        try await InProcessServer.run { server in
            let (wallet, other) = (try await server.wallet(), try await server.wallet())
            func isOn(_ wallet: TestWallet) async throws -> Bool {
                guard case .active(let active) = try await wallet.openSession().opening else {
                    throw UnexpectedAnswer()
                }
                #expect(try await server.commands.report(wallet).features == active.features)
                return active.features.safeBiometricUnlock
            }
            func set(_ rollout: Rollout) async throws {
                let report = FlagReport(.safeBiometricUnlock, rollout, changedAt: server.clock.now())
                #expect(try await server.commands.done(.setFlag(.safeBiometricUnlock, rollout)) == .flags([report]))
                #expect(try await server.commands.done(.listFlags) == .flags([report]))
            }
            let unset = FlagReport(.safeBiometricUnlock, .off, changedAt: nil)
            #expect(try await server.commands.done(.listFlags) == .flags([unset]))
            #expect(try await !isOn(wallet))
            try await set(.wallets([wallet.walletID]))
            #expect(try await isOn(wallet))
            #expect(try await !isOn(other))
            try await set(.on)
            #expect(try await isOn(other))
            #expect(try await !server.terms().features.safeBiometricUnlock, "Hello does not know the wallet")
            try await set(.off)
            #expect(try await !isOn(wallet))
        }
    }

    @Test("the update policy counts from the next Hello on, outranks the settings, and is cleared back to them")
    func updatePolicy() async throws {
        var options = InProcessServer.Options()
        options.rules.updates = UpdatePolicy(android: UpdatePolicy.Versions(notify: AppVersion("9")))
        try await InProcessServer.run(options) { server in
            let wallet = try await server.wallet()
            let until = server.clock.now() + .seconds(100)
            let warning = try UpdateRule(below: AppVersion("2"), .warn(until: until)).orThrow()
            let blocking = try UpdateRule(.block(updateAvailable: false)).orThrow()
            #expect(try await server.terms().update == .notify)
            let set = try await server.commands.done(.setUpdatePolicy([.android], [warning, blocking]))
            guard case .updatePolicy(let report) = set else { throw UnexpectedAnswer() }
            #expect(report.android == .init([warning, blocking], setAt: server.clock.now()))
            #expect(report.iOS == .init([], setAt: nil))

            #expect(try await server.terms().update == .warn(blockedIn: .seconds(100)))
            #expect(try await server.terms("2.0").update == .block(updateAvailable: false))
            #expect(try await server.terms(.iOS).update == .ok)
            server.clock.advance(by: .seconds(100))
            #expect(try await server.terms().update == .block(updateAvailable: true))
            let session = try await wallet.openSession()
            #expect(try await session.check("135790") == .refused(.notAllowed), "a blocked version is served nothing")
            #expect(await session.connection.answer(.reportWipe) == .other("reportWipe"))

            let cleared = try await server.commands.done(.clearUpdatePolicy([.android, .iOS]))
            guard case .updatePolicy(let back) = cleared else { throw UnexpectedAnswer() }
            #expect(back.android.setAt == nil && back.android.rules.count == 1)
            #expect(try await server.terms().update == .notify)
        }
    }

    @Test("what the store does not take is said to be unavailable, and nothing of it counts")
    func storeGone() async throws {
        try await InProcessServer.run { server in
            await server.store.close()
            let commands: [AdminCommand] = [
                .setFlag(.safeBiometricUnlock, .on), .setUpdatePolicy([.android], []), .revokeSolution,
                .revokeWallets([.random()]), .listDenied(after: nil, limit: 1),
            ]
            for command in commands {
                guard case .failed(let failure) = await server.commands.carryOut(command, by: InProcessServer.peer)
                else {
                    Issue.record("\(command) was done")
                    continue
                }
                #expect(failure.kind == .unavailable)
            }
            let unset = FlagReport(.safeBiometricUnlock, .off, changedAt: nil)
            let flags = try await server.commands.done(.listFlags)
            #expect(flags == .flags([unset]))
        }
    }
}

extension InProcessServer {
    /// What Hello says.
    fileprivate func terms(_ version: String = "1.0.0", _ platform: Platform = .android) async throws -> ServerTerms {
        let connection = try await self.endpoint.connect()
        defer { connection.close() }
        let hello = Hello(
            appVersion: try AppVersion(version).orThrow(),
            platform: platform,
            osVersion: try DeviceText("16").orThrow()
        )
        let result = try await connection.call(.hello(hello), timeout: TestWallet.patience)
        guard case .hello(let terms) = result else { throw UnexpectedAnswer(result) }
        return terms
    }

    fileprivate func terms(_ platform: Platform) async throws -> ServerTerms { try await self.terms("1.0.0", platform) }
}
