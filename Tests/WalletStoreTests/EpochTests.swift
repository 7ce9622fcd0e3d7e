import GRDB
import PINPolicy
import TestSupport
import Testing
import Vocabulary

@testable import WalletStore

@Suite("Epochs of a store")
struct EpochTests {
    private let folder: TemporaryFolder
    private let store: SQLiteWalletStore
    private let now = TestWallet.start

    init() throws {
        self.folder = TemporaryFolder()
        self.store = try self.folder.store()
    }

    /// Opens an epoch as a restore does.
    private func open(_ rule: EpochRule) async throws {
        let number = try await self.store.epochs().count + 2
        try await self.store.open([StoredEpoch(number: number, rule: rule, openedAt: self.now, mac: [1])])
    }

    private func state(_ wallet: TestWallet, policy: AttemptPolicy = .standard) async throws -> PINState? {
        let session = NewSession(
            walletID: wallet.id,
            identity: wallet.identity,
            assertionCounter: nil,
            policy: policy,
            now: self.now
        )
        guard case .active(_, let state, _, _) = try await self.store.beginSession(session) else { return nil }
        return state
    }

    private func isValid(_ outcome: AttemptOutcome) -> Bool {
        if case .valid = outcome { return true }
        return false
    }

    @Test("after a strict restore every wallet is in its last round, whether or not it ever guessed")
    func absentRows() async throws {
        let never = try await TestWallet(in: self.store)
        let once = try await TestWallet(in: self.store)
        let emptied = try await TestWallet(in: self.store)
        _ = try await self.store.judge(once.attempt(right: false))
        _ = try await self.store.judge(emptied.attempt(right: false))
        _ = try await self.store.judge(emptied.attempt(right: true))
        try await self.open(.strict)
        for wallet in [never, once, emptied] {
            #expect(try await self.state(wallet) == .open(attemptsLeft: 4, finalRound: true))
            let report = try await self.store.report(of: wallet.id)
            #expect(report?.attempts(under: .standard)?.failures == 12)
        }
        for listing in try await self.store.listing(after: nil, limit: 10) {
            #expect(listing.attempts(under: .standard)?.failures == 12)
        }
        for _ in 0..<3 { _ = try await self.store.judge(never.attempt(right: false)) }
        #expect(try await self.store.judge(never.attempt(right: false)) == .notValid(.wrong(.blockedPermanently)))
    }

    @Test("a right PIN ends the charge permanently, also after a sweep")
    func validEndsIt() async throws {
        let wallet = try await TestWallet(in: self.store)
        try await self.open(.strict)
        #expect(self.isValid(try await self.store.judge(wallet.attempt(right: true))))
        _ = try await self.store.sweep(unopenedSince: Timestamp(milliseconds: 0))
        #expect(try await self.state(wallet) == .open(attemptsLeft: 4, finalRound: false))
        #expect(
            try await self.store.judge(wallet.attempt(right: false))
                == .notValid(.wrong(.open(attemptsLeft: 3, finalRound: false)))
        )
        try await self.open(.strict)
        #expect(try await self.state(wallet) == .open(attemptsLeft: 4, finalRound: true))
    }

    @Test("a restore is charged once, however often the wallet opens sessions and guesses")
    func once() async throws {
        let wallet = try await TestWallet(in: self.store)
        try await self.open(.chargeOne)
        for _ in 0..<3 { #expect(try await self.state(wallet) == .open(attemptsLeft: 3, finalRound: false)) }
        #expect(
            try await self.store.judge(wallet.attempt(right: false))
                == .notValid(.wrong(.open(attemptsLeft: 2, finalRound: false)))
        )
        #expect(
            try await self.store.judge(wallet.attempt(right: false))
                == .notValid(.wrong(.open(attemptsLeft: 1, finalRound: false)))
        )
    }

    @Test("a wallet that registers in an epoch is not charged for it")
    func newWallets() async throws {
        try await self.open(.strict)
        let wallet = try await TestWallet(in: self.store)
        #expect(try await self.state(wallet) == .open(attemptsLeft: 4, finalRound: false))
    }

    @Test("the first judged PIN of an epoch writes the same rows whether right or wrong; the trust rule writes none")
    func writesAlike() async throws {
        for rule in EpochRule.allCases {
            let (right, wrong) = (try await TestWallet(in: self.store), try await TestWallet(in: self.store))
            try await self.open(rule)
            let epoch = try await self.store.epochs().count + 1
            _ = try await self.store.judge(right.attempt(right: true))
            _ = try await self.store.judge(wrong.attempt(right: false))
            let states = try await self.store.queue.perform { connection in
                try [right, wrong].map { try connection.wallet($0.id)?.state }
            }
            #expect(
                states.map { $0?.epoch }
                    == Array(repeating: rule == .trust ? UInt32(epoch - 1) : UInt32(epoch), count: 2)
            )
            #expect(states[0]?.writes == states[1]?.writes)
        }
    }

    @Test("a wallet of a later epoch than the store's comes from another file: none of its PINs is judged")
    func laterEpoch() async throws {
        let wallet = try await TestWallet(in: self.store)
        try await self.store.queue.perform { connection in
            guard var row = try connection.wallet(wallet.id) else { throw StoreError.corrupt }
            row.state.epoch = 7
            try connection.keep(row)
        }
        await #expect(throws: StoreError.corrupt) { try await self.store.judge(wallet.attempt(right: true)) }
    }

    @Test("epochs survive a restart, and records with a gap or an unknown rule are rejected")
    func records() async throws {
        try await self.open(.strict)
        try await self.open(.trust)
        await self.store.close()
        let again = try self.folder.store()
        #expect(try await again.epochs().map(\.rule) == [.strict, .trust])
        await again.close()
        for sql in ["DELETE FROM epochs WHERE number = 2", "UPDATE epochs SET rule = 'mild'"] {
            #expect(throws: StoreError.corrupt) { try self.connect(after: sql) }
        }
    }

    private func connect(after sql: String) throws {
        let database = try DatabaseQueue(path: self.folder.path + "/wallets.db")
        try database.inDatabase { db in
            try db.execute(sql: sql)
            _ = try StoreConnection(db, key: .test)
        }
    }

    /// Guesses and restores in random order, compared with a model of plain numbers.
    @Test(
        "in any order of guesses and restores, no wallet has more guesses than the rules leave it",
        arguments: [UInt64(11), 12]
    )
    func model(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let policy = try #require(AttemptPolicy(rounds: 3, attemptsPerRound: 3, blocks: [.zero, .zero]))
        var wallets: [(wallet: TestWallet, failures: Int, permanent: Bool)] = []
        for _ in 0..<6 { wallets.append((try await TestWallet(in: self.store), 0, false)) }
        for step in 0..<400 {
            switch Int.random(in: 0..<20, using: &random) {
            case 0:
                let rule = try #require(EpochRule.allCases.randomElement(using: &random))
                try await self.open(rule)
                for index in wallets.indices where !wallets[index].permanent {
                    switch rule {
                    case .strict: wallets[index].failures = max(wallets[index].failures, 6)
                    case .chargeOne: wallets[index].failures = min(wallets[index].failures + 1, 8)
                    case .trust: break
                    }
                }
            case 1: _ = try await self.store.sweep(unopenedSince: Timestamp(milliseconds: 0))
            case let draw:
                let index = Int.random(in: wallets.indices, using: &random)
                let isRight = draw < 5
                let outcome = try await self.store.judge(wallets[index].wallet.attempt(right: isRight, policy: policy))
                if wallets[index].permanent {
                    #expect(outcome == .notValid(.blockedPermanently), "seed \(seed), step \(step)")
                } else if isRight {
                    wallets[index].failures = 0
                    #expect(self.isValid(outcome), "seed \(seed), step \(step)")
                } else {
                    wallets[index].failures += 1
                    wallets[index].permanent = wallets[index].failures == 9
                }
            }
            for (wallet, failures, permanent) in wallets {
                let kept = try #require(try await self.store.report(of: wallet.id)).attempts(under: policy)
                #expect(kept?.failures == failures, "seed \(seed), step \(step)")
                #expect(kept?.isBlockedPermanently == permanent, "seed \(seed), step \(step)")
            }
        }
    }
}
