import AdminProtocol
import RemotePINServer
import Secrets
import ServerTestSupport
import TestSupport
import Testing
import Transport
import Vocabulary
import WalletStore
import Wire

@testable import Administration

@Suite("Admin commands")
struct AdminCommandsTests {
    private static let byOperator = Revocation(reason: .wallet, mayRegisterAnew: true)
    private static let byCode = Revocation(reason: .recoveryCode, mayRegisterAnew: false)
    private static let ofSolution = Revocation(reason: .solution, mayRegisterAnew: false)

    @Test("an advance of a lab's clock has taken full effect when the command returns")
    func advance() async throws {
        try await InProcessServer.run { server in
            let session = try await server.wallet().openSession()
            let expected = server.clock.now() + .seconds(900)
            #expect(try await server.give(AdvanceClock(by: .seconds(900))).now == expected)
            #expect(try await server.give(ShowStatus()).sessions == 0)
            #expect(await session.connection.answer(.reportWipe) == .refused(.sessionRequired))
        }
    }

    @Test("outside a lab no command moves time")
    func production() async throws {
        try await InProcessServer.run { server in
            let commands = AdminService(of: server.server, advance: nil, operations: server.commands.operations)
            await #expect {
                try await commands.carryOut(AdvanceClock(by: .seconds(1)), by: InProcessServer.peer)
            } throws: {
                ($0 as? AdminFailure)?.kind == .notAllowed
            }
        }
    }

    @Test("a revocation closes the wallet's open sessions, and its next one learns of it, as does every call in it")
    func revokeWallet() async throws {
        try await InProcessServer.run { server in
            let (wallet, other) = (try await server.wallet(), try await server.wallet(.iOS))
            let (session, unconcerned) = (try await wallet.openSession(), try await other.openSession())
            #expect(try await session.check("135790") == wallet.unlockShare.asValid)
            let reply = try await server.give(RevokeWallets([wallet.walletID]))
            #expect(reply == RevokeWallets.Reply(revoked: 1, alreadyRevoked: 0))
            #expect(try await session.check("135790") == .closed)
            let next = try await wallet.openSession()
            guard case .revoked(Self.byOperator) = next.opening else {
                Issue.record("not revoked")
                return
            }
            #expect(try await next.check("135790") == .refused(.revoked(Self.byOperator)))
            #expect(try await next.check("000000") == .refused(.revoked(Self.byOperator)))
            #expect(try await unconcerned.check("135790") == other.unlockShare.asValid)
            let again = try await server.give(RevokeWallets([wallet.walletID, other.walletID]))
            #expect(again == RevokeWallets.Reply(revoked: 1, alreadyRevoked: 1))
            #expect(try await unconcerned.check("135790") == .closed)
        }
    }

    @Test("if one wallet is unknown, none is revoked and the unknown ones are named")
    func allOrNone() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            let unknown = WalletID.random()
            let failure = await server.refusal(of: RevokeWallets([wallet.walletID, unknown]))
            #expect(failure?.kind == .unknownWallet)
            #expect(failure?.message == "There is no wallet \(unknown); nothing was done.")
            let others = [unknown, WalletID.random()]
            let plural = await server.refusal(of: RevokeWallets(others))?.message ?? ""
            #expect(plural.hasPrefix("There are no wallets ") && others.allSatisfy { plural.contains("\($0)") })
            #expect(try await session.check("135790") == wallet.unlockShare.asValid)
            #expect(await server.refusal(of: ShowWallet(unknown))?.kind == .unknownWallet)
        }
    }

    @Test("after a revocation has returned no share is sent, not even one that was in flight", arguments: 0..<3)
    func inFlight(kind: Int) async throws {
        let gate = Gate()
        var options = InProcessServer.Options()
        options.wrapping = { GatedStore(store: $0, gate: gate) }
        try await InProcessServer.run(options) { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            let code: RecoveryCode = "NL-9"
            if kind == 1 {
                #expect(try await session.answer(.linkRecoveryCode(code), pin: "135790") == .recoveryCodeLinked)
            }
            gate.close()
            // The PIN is judged right and the share read; the answer is delayed just before it is sent.
            async let answer = session.check("135790")
            await gate.isReached()
            let calls: [any AdminCall] = [
                RevokeWallets([wallet.walletID]), RevokeRecoveryCode(code), RevokeSolution(),
            ]
            #expect(await server.refusal(of: calls[kind]) == nil)
            gate.open()
            #expect(try await answer == .closed)
        }
    }

    @Test("revoking a recovery code ends the wallets linked to it, now and later; off the list, new wallets can link")
    func recoveryCode() async throws {
        try await InProcessServer.run { server in
            let code: RecoveryCode = "NL-999-1234"
            let (linked, later, other) = (
                try await server.wallet(), try await server.wallet(), try await server.wallet()
            )
            let session = try await linked.openSession()
            #expect(try await session.answer(.linkRecoveryCode(code), pin: "135790") == .recoveryCodeLinked)
            #expect(try await server.record(of: linked).linkedToRecoveryCode)

            let done = try await server.give(RevokeRecoveryCode(code))
            #expect(done.revoked == 1 && done.linked == 1 && !done.alreadyDenied)
            #expect(done.mac.bytes != code.bytes && done.deniedAt == server.clock.now())
            #expect(try await session.check("135790") == .closed)
            let late = try await later.openSession()
            #expect(
                try await late.answer(.linkRecoveryCode(code), pin: "135790") == .refused(.revoked(Self.byCode))
            )

            let listed = try await server.give(ListDenied(limit: 10))
            let entry = ListDenied.Entry(mac: done.mac, deniedAt: done.deniedAt)
            #expect(listed == ListDenied.Reply(entries: [entry], hasMore: false))
            let denied = ShowDenied.Reply(mac: done.mac, deniedAt: done.deniedAt)
            #expect(try await server.give(ShowDenied(.code(code))) == denied)
            let removed = RemoveDenied.Reply(mac: done.mac, deniedAt: done.deniedAt)
            #expect(try await server.give(RemoveDenied(.mac(done.mac))) == removed)
            let free = ShowDenied.Reply(mac: done.mac, deniedAt: nil)
            #expect(try await server.give(ShowDenied(.mac(done.mac))) == free)
            let gone = RemoveDenied.Reply(mac: done.mac, deniedAt: nil)
            #expect(try await server.give(RemoveDenied(.code(code))) == gone)

            let fresh = try await other.openSession()
            #expect(try await fresh.answer(.linkRecoveryCode(code), pin: "135790") == .recoveryCodeLinked)
            guard case .revoked(Self.byCode) = try await linked.openSession().opening else {
                Issue.record("the removal of the code from the list revived a wallet")
                return
            }
            #expect(server.log.lines.allSatisfy { !$0.contains("NL-999") }, "no log line holds the code")
        }
    }

    @Test("the revocation of the solution applies to open sessions, Hello and enrollments, and is reversible")
    func solution() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            #expect(try await server.give(RevokeSolution()) == SolutionReply(revoked: true, changed: true))
            #expect(try await server.give(RevokeSolution()) == SolutionReply(revoked: true, changed: false))
            #expect(try await session.check("135790") == .refused(.revoked(Self.ofSolution)))
            #expect(try await server.terms().solutionRevoked)
            let connection = try await server.endpoint.greet()
            #expect(await connection.answer(.beginEnrollment) == .refused(.revoked(Self.ofSolution)))
            #expect(try await server.record(of: wallet).solutionRevoked)
            #expect(try await server.record(of: wallet).revocation == nil)

            #expect(try await server.give(RestoreSolution()) == SolutionReply(revoked: false, changed: true))
            #expect(try await !server.terms().solutionRevoked)
            #expect(try await session.check("135790") == wallet.unlockShare.asValid)
        }
    }

    @Test("a wallet's report contains its counts, blocks, links, facts and revocation, and no secret")
    func report() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet(.iOS)
            var record = try await server.record(of: wallet)
            #expect(!record.sessionOpened && record.lastSession == nil && record.openConnections <= 1)
            let session = try await wallet.openSession()
            let opened = server.clock.now()
            for _ in 0..<3 { #expect(try await session.check("000000").isWrong) }
            record = try await server.record(of: wallet)
            let open = PINState.open(attemptsLeft: 1, finalRound: false)
            #expect(record.pin == ShowWallet.PIN(open, round: 1, failures: 3, now: opened))
            #expect(record.pin?.attemptsLeft == 1 && record.pin?.finalRound == false)
            #expect(record.sessionOpened && record.lastSession == opened && record.openConnections >= 1)
            #expect(record.platform == .iOS && record.environment == "production")
            #expect(record.assertionCounter != nil)
            #expect(record.attested.facts.values.contains(.text("SecureEnclave")), "\(record.attested)")
            #expect(record.hasDeletionCode && !record.linkedToRecoveryCode && record.revocation == nil)
            #expect(try await session.check("000000").isWrong)
            server.clock.advance(by: .seconds(10))
            record = try await server.record(of: wallet)
            let blocked = PINState.blocked(remaining: .seconds(50))
            #expect(record.pin == ShowWallet.PIN(blocked, round: 2, failures: 4, now: server.clock.now()))
            #expect(record.pin?.blockedUntil == opened + .seconds(60))
            let share = wallet.unlockShare.exposedBytes()
            let code = try wallet.deletionCode.orThrow().characters
            let text = String(decoding: AdminCoding.encode(record), as: UTF8.self)
            #expect(!text.contains(share.hex) && !text.contains(code) && !text.contains(Array(code.utf8).hex))

            try await server.give(RevokeWallets([wallet.walletID]))
            let ended = ShowWallet.Ended(Self.byOperator, at: server.clock.now())
            #expect(try await server.record(of: wallet).revocation == ended)
        }
    }

    @Test("a wallet that has used up its last round is shown as permanently blocked in that round")
    func permanent() async throws {
        var options = InProcessServer.Options()
        options.rules.attempts = try AttemptPolicy(rounds: 2, attemptsPerRound: 1, blocks: []).orThrow()
        try await InProcessServer.run(options) { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            #expect(try await session.check("000000").isWrong)
            #expect(
                try await server.record(of: wallet).pin
                    == .init(.open(attemptsLeft: 1, finalRound: true), round: 2, failures: 1, now: server.clock.now())
            )
            #expect(try await session.check("000000").isWrong)
            #expect(
                try await server.record(of: wallet).pin
                    == .init(.blockedPermanently, round: 2, failures: 2, now: server.clock.now())
            )
        }
    }

    @Test("the last session is known after the timers have written it, and to another server on the same store")
    func lastSession() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            _ = try await wallet.openSession()
            let opened = server.clock.now()
            #expect(try await server.store.report(of: wallet.walletID)?.lastSession == nil)
            try await server.give(AdvanceClock(by: .seconds(60)))
            #expect(try await server.store.report(of: wallet.walletID)?.lastSession == opened)
            #expect(try await server.record(of: wallet).lastSession == opened)
        }
    }

    @Test("a flag applies from a wallet's next session on: for listed wallets, for all, for none")
    func flags() async throws {
        try await InProcessServer.run { server in
            let (wallet, other) = (try await server.wallet(), try await server.wallet())
            func isOn(_ wallet: TestWallet) async throws -> Bool {
                guard case .active(let active) = try await wallet.openSession().opening else {
                    throw UnexpectedAnswer()
                }
                #expect(try await server.record(of: wallet).features == .init(active.features))
                return active.features.safeBiometricUnlock
            }
            func set(_ rollout: Rollout) async throws {
                let reply = FlagsReply([.init(.safeBiometricUnlock, rollout, changedAt: server.clock.now())])
                #expect(try await server.give(SetFlag(.safeBiometricUnlock, to: rollout)) == reply)
                #expect(try await server.give(ListFlags()) == reply)
            }
            let unset = FlagsReply([.init(.safeBiometricUnlock, .off, changedAt: nil)])
            #expect(try await server.give(ListFlags()) == unset)
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

    @Test("the update policy applies from the next Hello on, overrides the settings, and can be cleared")
    func updatePolicy() async throws {
        var options = InProcessServer.Options()
        options.rules.updates = UpdatePolicy(android: UpdatePolicy.Versions(notify: AppVersion("9")))
        try await InProcessServer.run(options) { server in
            let wallet = try await server.wallet()
            let until = server.clock.now() + .seconds(100)
            let warning = try UpdateRule(below: AppVersion("2"), .warn(until: until)).orThrow()
            let blocking = try UpdateRule(.block(updateAvailable: false)).orThrow()
            #expect(try await server.terms().update == .notify)
            let reply = try await server.give(SetUpdatePolicy([.android], to: [warning, blocking]))
            let now = server.clock.now()
            #expect(reply.android == .init([warning, blocking], setAt: now, now: now))
            #expect(reply.ios == .init([], setAt: nil, now: now))

            #expect(try await server.terms().update == .warn(blockedIn: .seconds(100)))
            #expect(try await server.terms("2.0").update == .block(updateAvailable: false))
            #expect(try await server.terms(.iOS).update == .ok)
            server.clock.advance(by: .seconds(100))
            #expect(try await server.terms().update == .block(updateAvailable: true))
            let session = try await wallet.openSession()
            #expect(try await session.check("135790") == .refused(.notAllowed), "a blocked version gets no instruction")
            #expect(await session.connection.answer(.reportWipe) == .other("reportWipe"))

            let cleared = try await server.give(ClearUpdatePolicy([.android, .iOS]))
            #expect(cleared.android.changedAt == nil && cleared.android.rules.count == 1)
            #expect(try await server.terms().update == .notify)
        }
    }

    @Test("a change that the store rejects is reported as unavailable and has no effect")
    func storeGone() async throws {
        try await InProcessServer.run { server in
            await server.store.close()
            let calls: [any AdminCall] = [
                SetFlag(.safeBiometricUnlock, to: .on), SetUpdatePolicy([.android], to: []), RevokeSolution(),
                RevokeWallets([.random()]), ListDenied(limit: 1),
            ]
            for call in calls { #expect(await server.refusal(of: call)?.kind == .unavailable, "\(call)") }
            let unset = FlagsReply([.init(.safeBiometricUnlock, .off, changedAt: nil)])
            let flags = try await server.give(ListFlags())
            #expect(flags == unset)
        }
    }
}

extension InProcessServer {
    /// The terms in the reply to Hello.
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
