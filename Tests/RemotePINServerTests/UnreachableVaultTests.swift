import WalletFlows
import Secrets
import ServerTestSupport
import SimulatedPhone
import Statements
import Synchronization
import MetricsEndpoint
import TestSupport
import Testing
import Vault
import Vocabulary
import WalletStore
import Wire

/// A vault that counts the values that it opens, can become unreachable for one field, and can reject values.
private struct CuttableVault: Vault {
    final class State: Sendable {
        let unreachable = Mutex<VaultField?>(nil)
        let opened = Mutex<[VaultField]>([])
        let damaged = Mutex<[[UInt8]]>([])
    }

    let vault: any Vault
    let state: State

    func seal(
        _ secret: borrowing SecretBytes,
        as field: VaultField,
        of wallet: WalletID
    ) async throws(VaultError) -> [UInt8] {
        try await self.vault.seal(secret, as: field, of: wallet)
    }

    func unseal(_ sealed: [UInt8], as field: VaultField, of wallet: WalletID) async throws(VaultError) -> SecretBytes {
        guard self.state.unreachable.withLock({ $0 }) != field else { throw .unreachable }
        guard !self.state.damaged.withLock({ $0.contains(sealed) }) else { throw .notOurs }
        self.state.opened.withLock { $0.append(field) }
        return try await self.vault.unseal(sealed, as: field, of: wallet)
    }

    func mac(_ message: [UInt8], for use: MACUse) -> [UInt8] { self.vault.mac(message, for: use) }

    func isMAC(_ mac: [UInt8], of message: [UInt8], for use: MACUse) -> Bool {
        self.vault.isMAC(mac, of: message, for: use)
    }
}

@Suite("The vault and the answers")
struct UnreachableVaultTests {
    private let state = CuttableVault.State()

    private var options: InProcessServer.Options {
        var options = InProcessServer.Options()
        options.wrappingVault = { [state] in CuttableVault(vault: $0, state: state) }
        return options
    }

    @Test("if the vault is unreachable after a right PIN was judged, the connection ends without an answer")
    func afterVerdict() async throws {
        try await InProcessServer.run(self.options) { server in
            let wallet = try await server.wallet()
            let (first, second) = (try await wallet.openSession(), try await wallet.openSession())
            #expect(try await first.check("000000").isWrong)
            self.state.unreachable.withLock { $0 = .unlockShare }
            #expect(try await second.check("135790") == .closed)
            #expect(try await first.check("000000") == .wrong(.open(attemptsLeft: 3, finalRound: false)))
            self.state.unreachable.withLock { $0 = nil }
            // The right PIN was judged: it started all counts anew.
            #expect(try await server.pinState(wallet) == .open(attemptsLeft: 3, finalRound: false))
            #expect(server.log.lines.contains { $0.contains("no answer after the verdict: the vault is unreachable") })
        }
    }

    @Test("if the vault is unreachable before anything was judged, the answer is unavailable")
    func beforeVerdict() async throws {
        try await InProcessServer.run(self.options) { server in
            let wallet = try await server.wallet()
            self.state.unreachable.withLock { $0 = .presenceShare }
            let connection = try await server.endpoint.greet()
            let call = try await wallet.sessionCall(on: connection)
            guard case .refused(.unavailable) = await connection.answer(.openSession(call)) else {
                Issue.record("not unavailable")
                return
            }
        }
    }

    @Test("a next share that does not open is not offered: the wallet unlocks without it, and the failure is visible")
    func damagedNextShares() async throws {
        try await InProcessServer.run(self.options) { server in
            let wallet = try await server.wallet()
            try await server.refreshShares()
            let shares = try await server.store.sealedValues(after: nil, limit: 1).first?.values.shares
            let next = try (shares?.next).orThrow()
            self.state.damaged.withLock { $0 = [next.unlock, next.presence].compactMap(\.self) }
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
            let failures = "remote_pin_vault_operations_total{operation=\"unseal\",outcome=\"not_ours\"} 2"
            #expect(Exposition.text(of: server.metrics).contains(failures))
        }
    }

    @Test("a wrong PIN opens as many values as a right one, and an unknown wallet as many as a known one")
    func sameWork() async throws {
        try await InProcessServer.run(self.options) { server in
            let wallet = try await server.wallet()
            func work(_ body: () async throws -> VerdictSummary) async throws -> (
                answer: VerdictSummary, opened: [VaultField]
            ) {
                self.state.opened.withLock { $0 = [] }
                let answer = try await body()
                return (answer, self.state.opened.withLock { $0 })
            }
            let session = try await wallet.openSession()
            let right = try await work { try await session.check("135790") }
            let wrong = try await work { try await session.check("000000") }
            #expect(right.answer.isValid && wrong.answer.isWrong)
            #expect(right.opened == [.unlockShare] && wrong.opened == right.opened)
            try await server.refreshShares()
            let pending = try await work { try await session.check("135790") }
            let guessed = try await work { try await session.check("000000") }
            #expect(pending.answer.isValid && guessed.answer.isWrong)
            #expect(pending.opened == [.unlockShare, .unlockShare] && guessed.opened == pending.opened)
            let stranger = try server.device(wallet.device.profile)
            _ = try await stranger.createKey(challenge: .of([]))
            var works: [[VaultField]] = []
            for walletID in [wallet.walletID, .random()] {
                let connection = try await server.endpoint.greet()
                let call = try await TestWallet.sessionCall(of: stranger, walletID, on: connection)
                let refused = try await work { await connection.answer(.openSession(call)) }
                #expect(refused.answer == .refused(.authenticationFailed))
                works.append(refused.opened)
            }
            #expect(works == [[.identity], [.identity]])
        }
    }
}
