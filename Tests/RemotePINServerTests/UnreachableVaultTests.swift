import Administration
import MetricsEndpoint
import Secrets
import ServerTestSupport
import SimulatedPhone
import Statements
import Synchronization
import TestSupport
import Testing
import Transport
import Vault
import Vocabulary
import WalletFlows
import WalletStore
import Wire

/// A vault that keeps the keys that it derived, and can become unreachable.
struct WatchedVault: Vault {
    final class State: Sendable {
        let isUnreachable = Atomic<Bool>(false)
        let derived = Mutex<[WalletKeys]>([])

        /// The number of times that keys were derived, or asked for in vain.
        let calls = Atomic<Int>(0)
        var callCount: Int { self.calls.load(ordering: .sequentiallyConsistent) }
        var newest: WalletKeys? { self.derived.withLock { $0.last } }
        func setUnreachable(_ isUnreachable: Bool) {
            self.isUnreachable.store(isUnreachable, ordering: .sequentiallyConsistent)
        }
    }

    let vault: any Vault
    let state: State

    func keys(of wallet: WalletID, opening sealed: [[UInt8]]) async throws(VaultError) -> WalletKeys {
        self.state.calls.add(1, ordering: .sequentiallyConsistent)
        guard !self.state.isUnreachable.load(ordering: .sequentiallyConsistent) else { throw .unreachable }
        let keys = try await self.vault.keys(of: wallet, opening: sealed)
        self.state.derived.withLock { $0.append(keys) }
        return keys
    }

    var activeVersion: UInt32 { self.vault.activeVersion }

    func sealIdentity(_ identity: LayeredIdentity, of wallet: WalletID) throws(VaultError) -> [UInt8] {
        try self.vault.sealIdentity(identity, of: wallet)
    }

    func openIdentity(_ sealed: [UInt8], of wallet: WalletID) throws(VaultError) -> LayeredIdentity {
        try self.vault.openIdentity(sealed, of: wallet)
    }

    func mac(_ message: [UInt8], for use: MACUse) -> [UInt8] { self.vault.mac(message, for: use) }

    func isMAC(_ mac: [UInt8], of message: [UInt8], for use: MACUse) -> Bool {
        self.vault.isMAC(mac, of: message, for: use)
    }
}

extension WatchedVault.State {
    var options: InProcessServer.Options {
        var options = InProcessServer.Options()
        options.wrappingVault = { [self] in WatchedVault(vault: $0, state: self) }
        return options
    }
}

extension InProcessServer {
    /// The sealed values of the only wallet.
    func values() async throws -> SealedValues {
        try await self.store.sealedValues(after: nil, limit: 1).first.orThrow().values
    }

    /// Edits the sealed values of the only wallet, as an attacker with the store does.
    func edit(_ wallet: TestWallet, _ body: (inout SealedValues) -> Void) async throws {
        let old = try await self.values()
        var new = old
        body(&new)
        try await self.store.replace([SealedReplacement(walletID: wallet.walletID, old: old, new: new)])
        #expect(try await self.values() == new)
    }

    /// The number of values opened so far, also those of decoys.
    func opened() -> Int {
        let name = "remote_pin_vault_operations_total{operation=\"open\",outcome=\"done\"} "
        let line = Exposition.text(of: self.metrics).split(separator: "\n").first { $0.hasPrefix(name) }
        return line.flatMap { Int($0.dropFirst(name.count)) } ?? 0
    }

    /// Does something and returns the answer, and the number of values that it opened.
    func work(_ body: () async throws -> VerdictSummary) async throws -> (answer: VerdictSummary, opened: Int) {
        let before = self.opened()
        let answer = try await body()
        return (answer, self.opened() - before)
    }
}

@Suite("The vault and the answers")
struct UnreachableVaultTests {
    private let state = WatchedVault.State()

    @Test("while the vault is unreachable, no session opens and no device registers, and nothing is judged")
    func beforeVerdict() async throws {
        try await InProcessServer.run(self.state.options) { server in
            let wallet = try await server.wallet()
            self.state.setUnreachable(true)
            let connection = try await server.endpoint.greet()
            let call = try await wallet.sessionCall(on: connection)
            guard case .refused(.unavailable) = await connection.answer(.openSession(call)) else {
                Issue.record("not unavailable")
                return
            }
            await #expect(throws: (any Error).self) { try await server.wallet() }
            let failures = "remote_pin_vault_operations_total{operation=\"derive\",outcome=\"unreachable\"} 2"
            #expect(Exposition.text(of: server.metrics).contains(failures))
            self.state.setUnreachable(false)
            #expect(try await server.pinState(wallet) == .open(attemptsLeft: 4, finalRound: false))
        }
    }

    @Test("while the vault is unreachable, open sessions check and change PINs, read codes and confirm shares")
    func openSessions() async throws {
        try await InProcessServer.run(self.state.options) { server in
            let wallet = try await server.wallet()
            try await server.refreshShares()
            let (session, other) = (try await wallet.openSession(), try await wallet.openSession())
            let calls = self.state.callCount
            self.state.setUnreachable(true)
            #expect(try await session.check("000000").isWrong)
            #expect(try await session.check("135790") == wallet.unlockShare.asValid)
            let code = try wallet.deletionCode.orThrow()
            #expect(try await session.answer(.showDeletionCode, pin: "135790") == .deletionCode(code))
            #expect(try await session.answer(.linkRecoveryCode("NL-1"), pin: "135790") == .recoveryCodeLinked)
            let confirmation = Call.confirmShares(ConfirmShares(unlock: true, presence: true))
            #expect(await session.connection.answer(confirmation) == .other("confirmShares"))
            #expect(VerdictSummary(try await session.changePIN(from: "135790", to: "246802")) == .pinChanged)
            #expect(try await session.check("246802").isValid)
            // The other session reads the new identity, whose values need no other keys.
            #expect(try await other.check("246802").isValid)
            #expect(self.state.callCount == calls, "no instruction calls the vault")
        }
    }

    @Test("a next share that does not open is not offered: the wallet unlocks without it, and the failure is visible")
    func damagedNextShares() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            try await server.refreshShares()
            try await server.edit(wallet) { values in
                for share in [\NextShares.unlock, \.presence] {
                    values.shares?.next[keyPath: share]?[20] ^= 1
                }
            }
            let session = try await wallet.openSession()
            guard case .active(let opened) = session.opening else { throw UnexpectedAnswer() }
            #expect(opened.presenceShare != nil && opened.nextPresenceShare == nil)
            guard case .instruct(.pinValid(let share, let offered)) = try await session.instruct(pin: "135790") else {
                throw UnexpectedAnswer()
            }
            #expect(share.isEqual(to: wallet.unlockShare) && offered == nil)
            let confirmation = Call.confirmShares(ConfirmShares(unlock: true, presence: false))
            #expect(await session.connection.answer(confirmation) == .refused(.notAllowed), "nothing was offered")
            let lines = server.log.lines.filter { $0.contains("a next share does not open") }
            #expect(lines.count == 2 && lines.allSatisfy { $0.contains("\(wallet.walletID)") }, "\(lines)")
            let failures = "remote_pin_vault_operations_total{operation=\"open\",outcome=\"not_ours\"} 2"
            #expect(Exposition.text(of: server.metrics).contains(failures))
        }
    }

    @Test("a wrong PIN opens as many values as a right one, and an unknown wallet as many as a known one")
    func sameWork() async throws {
        try await InProcessServer.run(self.state.options) { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            let right = try await server.work { try await session.check("135790") }
            let wrong = try await server.work { try await session.check("000000") }
            #expect(right.answer.isValid && wrong.answer.isWrong)
            #expect(right.opened == 1 && wrong.opened == 1)
            try await server.refreshShares()
            let pending = try await server.work { try await session.check("135790") }
            let guessed = try await server.work { try await session.check("000000") }
            #expect(pending.answer.isValid && guessed.answer.isWrong)
            #expect(pending.opened == 2 && guessed.opened == 2)
            let stranger = try server.device(wallet.device.profile)
            _ = try await stranger.createKey(challenge: .of([]))
            let calls = self.state.callCount
            for walletID in [wallet.walletID, .random()] {
                let connection = try await server.endpoint.greet()
                let call = try await TestWallet.sessionCall(of: stranger, walletID, on: connection)
                let refused = try await server.work { await connection.answer(.openSession(call)) }
                #expect(refused.answer == .refused(.authenticationFailed) && refused.opened == 1)
            }
            #expect(self.state.callCount == calls, "keys are derived only after the device's proof")
        }
    }
}
