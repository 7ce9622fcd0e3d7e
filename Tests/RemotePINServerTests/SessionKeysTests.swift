import Administration
import PINPolicy
import RemotePINServer
import Secrets
import ServerTestSupport
import Synchronization
import TestSupport
import Testing
import Transport
import Vault
import Vocabulary
import WalletStore
import Wire

@Suite("The keys of a wallet in its sessions")
struct SessionKeysTests {
    private let state = WatchedVault.State()

    /// Options for a server whose wallets are blocked permanently after one wrong PIN.
    private func strictOptions() throws -> InProcessServer.Options {
        var options = self.state.options
        options.rules.attempts = try AttemptPolicy(rounds: 1, attemptsPerRound: 1, blocks: []).orThrow()
        return options
    }

    /// Options for a server that leaves the values of older versions as they are.
    private var optionsWithoutMaintenance: InProcessServer.Options {
        var options = self.state.options
        let lease = TestLease()
        lease.set(hasMaintenance: false)
        options.lease = lease
        return options
    }

    /// Rotates the vault's keys and returns once the values of the only wallet are resealed.
    private static func rotate(_ server: InProcessServer) async throws {
        try await server.give(RotateVault())
        let active = server.vault.activeVersion
        try await poll {
            let values = try await server.values()
            let sealed = [values.identity] + [values.shares?.unlock, values.shares?.presence].compactMap(\.self)
            return sealed.allSatisfy { server.vault.keyVersion(of: $0) == active }
        }
    }

    /// Offers next shares under the active version to the only wallet.
    private static func offerShares(_ server: InProcessServer, to wallet: TestWallet) async throws {
        let keys = try await server.vault.keys(of: wallet.walletID, opening: [])
        let next = NextShares(
            unlock: try keys.seal(Share.random().copy(), as: .unlockShare),
            presence: try keys.seal(Share.random().copy(), as: .presenceShare)
        )
        let cursor = try await server.store.sealedValues(after: nil, limit: 1).first.orThrow().cursor
        try await server.store.offer([OfferedShares(cursor: cursor, walletID: wallet.walletID, next: next)])
    }

    @Test("a rotation during a session: the missing key is fetched before the next PIN is judged")
    func rotation() async throws {
        try await InProcessServer.run(self.state.options) { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            let calls = self.state.callCount
            try await Self.rotate(server)
            self.state.setUnreachable(true)
            for pin in ["000000", "135790"] {
                guard case .refused(.unavailable) = try await session.check(pin) else {
                    Issue.record("judged without the key")
                    return
                }
            }
            self.state.setUnreachable(false)
            #expect(try await session.check("000000") == .wrong(.open(attemptsLeft: 3, finalRound: false)))
            #expect(try await session.check("135790") == wallet.unlockShare.asValid)
            #expect(self.state.callCount == calls + 3)
        }
    }

    @Test("an outdated session still judges a change of the PIN only after a new session")
    func changeAfterRotation() async throws {
        try await InProcessServer.run(self.state.options) { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            try await Self.rotate(server)
            self.state.setUnreachable(true)
            guard
                case .refused(.unavailable) = VerdictSummary(try await session.changePIN(from: "135790", to: "246802"))
            else {
                Issue.record("a PIN key was sealed without the active version")
                return
            }
            self.state.setUnreachable(false)
            let change = VerdictSummary(try await session.changePIN(from: "135790", to: "246802"))
            #expect(change == .refused(.sessionRequired))
        }
    }

    @Test("a new PIN key is sealed with the active version in both layers, which the session gets before the judgment")
    func changeUnderActiveVersion() async throws {
        try await InProcessServer.run(self.optionsWithoutMaintenance) { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            _ = try await server.vault.addVersion(activating: true)
            self.state.setUnreachable(true)
            guard
                case .refused(.unavailable) = VerdictSummary(try await session.changePIN(from: "000000", to: "246802"))
            else {
                Issue.record("judged without the active version")
                return
            }
            self.state.setUnreachable(false)
            #expect(try await server.pinState(wallet) == .open(attemptsLeft: 4, finalRound: false))
            #expect(VerdictSummary(try await session.changePIN(from: "135790", to: "246802")) == .pinChanged)
            let sealed = try await server.values().identity
            let layers = try server.vault.openIdentity(sealed, of: wallet.walletID)
            for layer in [sealed, layers.pinKey] { #expect(server.vault.keyVersion(of: layer) == 2) }
            #expect(try await wallet.openSession().check("246802") == wallet.unlockShare.asValid)
        }
    }

    @Test("all sealed identities have one length, whatever the platform and the app")
    func oneLength() async throws {
        try await InProcessServer.run { server in
            for platform in Platform.allCases { _ = try await server.wallet(platform) }
            let wallets = try await server.store.sealedValues(after: nil, limit: 2)
            #expect(wallets.map(\.values.identity.count) == [452, 452])
        }
    }

    @Test("an identity with the PIN key of another wallet is rejected, and no PIN is judged")
    func foreignPINKey() async throws {
        try await InProcessServer.run { server in
            let (wallet, other) = (try await server.wallet(), try await server.wallet(pin: "246802"))
            let stored = try await server.store.sealedValues(after: nil, limit: 2)
            var layers = try server.vault.openIdentity(stored[0].values.identity, of: wallet.walletID)
            layers.pinKey = try server.vault.openIdentity(stored[1].values.identity, of: other.walletID).pinKey
            let mixed = try server.vault.sealIdentity(layers, of: wallet.walletID)
            for identity in [mixed, stored[1].values.identity] {
                try await server.edit(wallet) { $0.identity = identity }
                let connection = try await server.endpoint.greet()
                let call = try await wallet.sessionCall(on: connection)
                #expect(await connection.answer(.openSession(call)) == .refused(.internal))
            }
            let altered = "a sealed value was altered or belongs to another wallet"
            #expect(server.log.lines.count { $0.contains(altered) } == 2)
        }
    }

    @Test("shares of several versions: a session has the keys of all its wallet's values and of the active version")
    func severalVersions() async throws {
        try await InProcessServer.run(self.optionsWithoutMaintenance) { server in
            let wallet = try await server.wallet()
            _ = try await server.vault.addVersion(activating: true)
            // The identity is sealed with version 2, and the shares with version 1.
            let changed = try await wallet.openSession().changePIN(from: "135790", to: "246802")
            #expect(VerdictSummary(changed) == .pinChanged)
            _ = try await server.vault.addVersion(activating: true)
            try await Self.offerShares(server, to: wallet)
            let session = try await wallet.openSession()
            guard case .instruct(.pinValid(let share, let next?)) = try await session.instruct(pin: "246802") else {
                throw UnexpectedAnswer()
            }
            #expect(share.isEqual(to: wallet.unlockShare) && !next.isEqual(to: share))
            let code = try wallet.deletionCode.orThrow()
            #expect(try await session.answer(.showDeletionCode, pin: "246802") == .deletionCode(code))
        }
    }

    @Test("a next share under a key that the session lacks is withheld until the wallet's next session, at equal work")
    func withheld() async throws {
        try await InProcessServer.run(self.optionsWithoutMaintenance) { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            _ = try await server.vault.addVersion(activating: true)
            try await Self.offerShares(server, to: wallet)
            let right = try await server.work { try await session.check("135790") }
            let wrong = try await server.work { try await session.check("000000") }
            #expect(right.answer == wallet.unlockShare.asValid && wrong.answer.isWrong)
            #expect(right.opened == 2 && wrong.opened == 2)
            guard case .instruct(.pinValid(_, next: nil)) = try await session.instruct(pin: "135790") else {
                Issue.record("not withheld")
                return
            }
            let confirmation = Call.confirmShares(ConfirmShares(unlock: true, presence: false))
            #expect(await session.connection.answer(confirmation) == .refused(.notAllowed))
            let later = try await wallet.openSession()
            guard case .active(let opened) = later.opening, opened.nextPresenceShare != nil,
                case .instruct(.pinValid(_, next: _?)) = try await later.instruct(pin: "135790")
            else {
                Issue.record("withheld from the next session")
                return
            }
            #expect(await later.connection.answer(confirmation) == .other("confirmShares"))
            #expect(!server.log.lines.contains { $0.contains("a next share does not open") })
        }
    }

    @Test("a share put in the store under another key: the connection ends without an answer after the right PIN")
    func editedShare() async throws {
        try await InProcessServer.run(self.state.options) { server in
            let wallet = try await server.wallet()
            let (first, second) = (try await wallet.openSession(), try await wallet.openSession())
            #expect(try await first.check("000000").isWrong)
            try await server.edit(wallet) { $0.shares?.unlock[3] = 9 }
            #expect(try await second.check("135790") == .closed)
            // The right PIN was judged: it started all counts anew.
            #expect(try await first.check("000000") == .wrong(.open(attemptsLeft: 3, finalRound: false)))
            let reason = "no answer after the verdict: a sealed value names a key that this session does not have"
            #expect(server.log.lines.contains { $0.contains(reason) })
        }
    }

    @Test("revoked and permanently blocked wallets get no keys, and learn their state while the vault is unreachable")
    func endedWallets() async throws {
        try await InProcessServer.run(try self.strictOptions()) { server in
            let (revoked, blocked) = (try await server.wallet(), try await server.wallet())
            #expect(try await blocked.openSession().check("000000") == .wrong(.blockedPermanently))
            try await server.give(RevokeWallets([revoked.walletID]))
            let calls = self.state.callCount
            self.state.setUnreachable(true)
            guard case .revoked = try await revoked.openSession().opening else { throw UnexpectedAnswer() }
            let session = try await blocked.openSession()
            #expect(session.pinState == .blockedPermanently)
            #expect(try await session.check("135790") == .blockedPermanently)
            #expect(self.state.callCount == calls)
        }
    }

    @Test("a revocation of the solution is learned while the vault is unreachable, and gets no keys")
    func revokedSolution() async throws {
        try await InProcessServer.run(self.state.options) { server in
            let wallet = try await server.wallet()
            try await server.give(RevokeSolution())
            self.state.setUnreachable(true)
            let early = try await wallet.openSession()
            guard case .revoked = early.opening else { throw UnexpectedAnswer() }
            guard case .refused(.revoked) = try await early.check("135790") else { throw UnexpectedAnswer() }
            self.state.setUnreachable(false)
            try await server.give(RestoreSolution())
            // The session has no keys, so no PIN is judged in it.
            for pin in ["000000", "135790"] { #expect(try await early.check(pin) == .refused(.sessionRequired)) }
            let change = VerdictSummary(try await early.changePIN(from: "135790", to: "246802"))
            #expect(change == .refused(.sessionRequired))
            #expect(try await server.pinState(wallet) == .open(attemptsLeft: 4, finalRound: false))
            #expect(try await wallet.openSession().check("135790") == wallet.unlockShare.asValid)
        }
    }

    /// A way in which a wallet's sessions lose their keys.
    enum End: CaseIterable {
        case deletionCode, ownDeletionCode, operatorCommand, deniedLink, otherServer, permanentBlock
    }

    @Test("a revocation and a permanent block wipe the keys of the wallet's sessions at once", arguments: End.allCases)
    func wiped(by end: End) async throws {
        var options = try self.strictOptions()
        let lease = TestLease()
        if end == .otherServer { options.lease = lease }
        try await InProcessServer.run(options) { server in
            let (wallet, other) = (try await server.wallet(), try await server.wallet())
            var (sessions, keys): ([TestSession], [WalletKeys]) = ([], [])
            for wallet in [wallet, wallet, other] {
                sessions.append(try await wallet.openSession())
                keys.append(try self.state.newest.orThrow())
            }
            let values = try await server.values()
            let share = try values.shares.orThrow().unlock
            let foreign = try await server.store.sealedValues(after: nil, limit: 2)[1].values.shares.orThrow().unlock
            #expect(keys[0].hasKey(of: share) && keys[1].hasKey(of: share) && keys[2].hasKey(of: foreign))
            let code = Call.revokeWithCode(try wallet.deletionCode.orThrow().characters)
            switch end {
            case .deletionCode:
                #expect(await sessions[2].connection.answer(code) == .other("revoked"))
            case .ownDeletionCode:
                #expect(await sessions[0].connection.answer(code) == .other("revoked"))
            case .operatorCommand:
                try await server.give(RevokeWallets([wallet.walletID]))
            case .deniedLink:
                try await server.give(RevokeRecoveryCode("NL-1"))
                let link = try await sessions[0].answer(.linkRecoveryCode("NL-1"), pin: "135790")
                guard case .refused(.revoked) = link else { throw UnexpectedAnswer() }
            case .otherServer:
                await lease.settle([wallet.walletID])
            case .permanentBlock:
                #expect(try await sessions[0].check("000000") == .wrong(.blockedPermanently))
            }
            #expect(!keys[0].hasKey(of: share) && !keys[1].hasKey(of: share))
            #expect(keys[2].hasKey(of: foreign), "another wallet's keys stay")
            #expect(try await sessions[2].check("135790") == other.unlockShare.asValid)
        }
    }

    @Test("a session that a permanent block finds between its keys and its step gets no keys")
    func blockedMeanwhile() async throws {
        let gate = Gate()
        var options = try self.strictOptions()
        options.wrapping = { GatedStore(store: $0, gate: gate) }
        try await InProcessServer.run(options) { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            gate.close()
            async let late = wallet.openSession()
            await gate.isReached()
            let keys = try self.state.newest.orThrow()
            let share = try await server.values().shares.orThrow().unlock
            async let blocked = session.check("000000")
            gate.open()
            #expect(try await blocked == .wrong(.blockedPermanently))
            #expect(!keys.hasKey(of: share))
            _ = try? await late
        }
    }

    @Test("a revocation between a session's step and its answer ends the connection, and alarms no operator")
    func revokedMeanwhile() async throws {
        let gate = Gate()
        var options = self.state.options
        options.wrapping = { GatedStore(store: $0, gate: gate) }
        try await InProcessServer.run(options) { server in
            let wallet = try await server.wallet()
            gate.close()
            async let late = wallet.openSession()
            await gate.isReached()
            let keys = try self.state.newest.orThrow()
            async let revoked = server.give(RevokeWallets([wallet.walletID]))
            try await poll { keys.areWiped }
            gate.open()
            _ = try await revoked
            let session = try? await late
            #expect(session == nil)
            try await poll { server.log.lines.contains { $0.contains("revoked or blocked during the call") } }
            #expect(!server.log.lines.contains { $0.contains("names a key") })
        }
    }

    @Test("the keys of a closed connection are released, which wipes them")
    func closed() async throws {
        try await InProcessServer.run(self.state.options) { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            weak let keys = self.state.newest
            self.state.derived.withLock { $0 = [] }
            #expect(keys != nil)
            session.connection.close()
            try await poll { keys == nil }
        }
    }
}
