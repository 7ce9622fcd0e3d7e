import DictionaryStore
import PINPolicy
import PostgreSQLClient
import TestSupport
import Testing
import Vocabulary

@testable import PostgreSQLStore
@testable import WalletStore

@Suite("Epochs of a store")
struct EpochTests {
    private let now = TestWallet.start

    /// Opens an epoch as a restore does.
    private func open(_ rule: EpochRule, in store: any WalletStore) async throws {
        let number = try await store.epochs().count + 2
        try await store.open([StoredEpoch(number: number, rule: rule, openedAt: self.now, mac: [1])])
    }

    private func state(_ wallet: TestWallet, policy: AttemptPolicy = .standard) async throws -> PINState? {
        let session = NewSession(
            walletID: wallet.id,
            identity: wallet.identity,
            assertionCounter: nil,
            policy: policy,
            now: self.now
        )
        guard case .active(_, let state, _, _, _, _) = try await wallet.store.beginSession(session) else { return nil }
        return state
    }

    private func isValid(_ outcome: AttemptOutcome) -> Bool {
        if case .valid = outcome { return true }
        return false
    }

    @Test(
        "after a strict restore every wallet is in its last round, whether or not it ever guessed",
        arguments: StoreKind.allCases
    )
    func absentRows(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let never = try await TestWallet(in: store)
        let once = try await TestWallet(in: store)
        let emptied = try await TestWallet(in: store)
        _ = try await store.outcome(of: once.attempt(right: false))
        _ = try await store.outcome(of: emptied.attempt(right: false))
        _ = try await store.outcome(of: emptied.attempt(right: true))
        try await self.open(.strict, in: store)
        for wallet in [never, once, emptied] {
            #expect(try await self.state(wallet) == .open(attemptsLeft: 4, finalRound: true))
            let report = try await store.report(of: wallet.id)
            #expect(report?.attempts(under: .standard)?.failures == 12)
        }
        for listing in try await store.listing(after: nil, limit: 10) {
            #expect(listing.attempts(under: .standard)?.failures == 12)
        }
        for _ in 0..<3 { _ = try await store.outcome(of: never.attempt(right: false)) }
        #expect(try await store.outcome(of: never.attempt(right: false)) == .notValid(.wrong(.blockedPermanently)))
    }

    @Test("a session states the counts of judged PINs and the epoch, without any charge", arguments: StoreKind.allCases)
    func counts(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let wallet = try await TestWallet(in: store)
        func counts() async throws -> AttemptCounts? {
            guard case .active(_, _, _, _, _, let counts) = try await wallet.session() else { return nil }
            return counts
        }
        #expect(try await counts() == AttemptCounts(number: 0, wrongPINs: 0, lastWrong: nil, epoch: 1))
        _ = try await store.outcome(of: wallet.attempt(right: false))
        try await self.open(.strict, in: store)
        #expect(try await counts() == AttemptCounts(number: 1, wrongPINs: 1, lastWrong: self.now, epoch: 2))
        _ = try await store.outcome(of: wallet.attempt(right: true))
        #expect(try await counts() == AttemptCounts(number: 2, wrongPINs: 0, lastWrong: nil, epoch: 2))
    }

    @Test("a right PIN ends the charge permanently, also after a sweep", arguments: StoreKind.allCases)
    func validEndsIt(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let wallet = try await TestWallet(in: store)
        try await self.open(.strict, in: store)
        #expect(self.isValid(try await store.outcome(of: wallet.attempt(right: true))))
        _ = try await store.sweep(unopenedSince: Timestamp(milliseconds: 0))
        #expect(try await self.state(wallet) == .open(attemptsLeft: 4, finalRound: false))
        #expect(
            try await store.outcome(of: wallet.attempt(right: false))
                == .notValid(.wrong(.open(attemptsLeft: 3, finalRound: false)))
        )
        try await self.open(.strict, in: store)
        #expect(try await self.state(wallet) == .open(attemptsLeft: 4, finalRound: true))
    }

    @Test(
        "a restore is charged once, however often the wallet opens sessions and guesses",
        arguments: StoreKind.allCases
    )
    func once(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let wallet = try await TestWallet(in: store)
        try await self.open(.chargeOne, in: store)
        for _ in 0..<3 { #expect(try await self.state(wallet) == .open(attemptsLeft: 3, finalRound: false)) }
        #expect(
            try await store.outcome(of: wallet.attempt(right: false))
                == .notValid(.wrong(.open(attemptsLeft: 2, finalRound: false)))
        )
        #expect(
            try await store.outcome(of: wallet.attempt(right: false))
                == .notValid(.wrong(.open(attemptsLeft: 1, finalRound: false)))
        )
    }

    @Test(
        "a session that corrects a block and keeps a counter does not charge a restore again",
        arguments: StoreKind.allCases
    )
    func correctedBlock(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let wallet = try await TestWallet(in: store, assertionCounter: 1)
        for _ in 0..<4 { _ = try await store.outcome(of: wallet.attempt(right: false)) }
        try await self.open(.chargeOne, in: store)
        let before = try await store.report(of: wallet.id)?.attempts(under: .standard)
        try await wallet.session(counter: 3, now: self.now + .seconds(-10))
        let after = try await store.report(of: wallet.id)?.attempts(under: .standard)
        #expect(before?.failures == 5 && after?.failures == 5)
        #expect(before != after, "the block was corrected")
    }

    @Test("a wallet that registers in an epoch is not charged for it", arguments: StoreKind.allCases)
    func newWallets(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        try await self.open(.strict, in: store)
        let wallet = try await TestWallet(in: store)
        #expect(try await self.state(wallet) == .open(attemptsLeft: 4, finalRound: false))
    }

    @Test(
        "the first judged PIN of an epoch writes the same rows whether right or wrong; the trust rule writes none",
        arguments: StoreKind.allCases
    )
    func writesAlike(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        for rule in EpochRule.allCases {
            let (right, wrong) = (try await TestWallet(in: store), try await TestWallet(in: store))
            try await self.open(rule, in: store)
            let epoch = try await store.epochs().count + 1
            _ = try await store.outcome(of: right.attempt(right: true))
            _ = try await store.outcome(of: wrong.attempt(right: false))
            var states: [WalletState?] = []
            for wallet in [right, wrong] { states.append(try await place.state(of: wallet.id, in: store)) }
            #expect(
                states.map { $0?.epoch }
                    == Array(repeating: rule == .trust ? UInt32(epoch - 1) : UInt32(epoch), count: 2)
            )
            #expect(states[0]?.writes == states[1]?.writes)
        }
    }

    @Test(
        "a wallet of a later epoch than the store's comes from another file: none of its PINs is judged",
        arguments: StoreKind.allCases
    )
    func laterEpoch(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let wallet = try await TestWallet(in: store)
        switch place {
        case .sqlite:
            try await #require(store as? SQLiteWalletStore).queue.perform { connection in
                guard var row = try connection.wallet(wallet.id) else { throw StoreError.corrupt }
                row.state.epoch = 7
                try connection.keep(row)
            }
        // The last byte of the epoch, minus one.
        case .postgreSQL: try place.change("update wallets set record = set_byte(record, 81, 6)")
        case .dictionary(let contents): contents.withLock { $0.wallets[wallet.id]?.row.state.epoch = 7 }
        }
        await #expect(throws: StoreError.corrupt) { try await store.outcome(of: wallet.attempt(right: true)) }
    }

    @Test(
        "epochs survive a restart, and records with a gap or an unknown rule are rejected",
        arguments: StoreKind.allCases,
        Damage.allCases
    )
    func records(kind: StoreKind, damage: Damage) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        try await self.open(.strict, in: store)
        try await self.open(.trust, in: store)
        await store.close()
        let again = try await place.open()
        #expect(try await again.epochs().map(\.rule) == [.strict, .trust])
        await again.close()
        switch place {
        case .sqlite:
            try place.change(damage.rawValue)
            await #expect(throws: StoreOpenError.notAStore) { try await place.open() }
        case .postgreSQL:
            try place.change(damage.rawValue)
            await #expect(throws: PostgreSQLStoreOpenError.unreachable("corrupt")) { try await place.open() }
        case .dictionary(let contents):
            let (statement, values) = damage.statement
            try contents.withLock { _ = try $0.sides.carryOut(statement, values) }
            await #expect(throws: StoreError.corrupt) { try await place.open().epochs() }
        }
    }

    /// Damage of the records, as SQL.
    enum Damage: String, CaseIterable, Sendable {
        case gap = "DELETE FROM epochs WHERE number = 2"
        case unknownRule = "UPDATE epochs SET rule = 'mild'"

        fileprivate var statement: (SideStatement, [ColumnValue]) {
            switch self {
            case .gap: (.delete(from: .epochs, where: ("number", .equals)), [.number(2)])
            case .unknownRule: (.update(.epochs, "rule"), [.text("mild")])
            }
        }
    }

    /// Guesses and restores in random order, compared with a model of plain numbers.
    @Test(
        "in any order of guesses and restores, no wallet has more guesses than the rules leave it",
        arguments: [
            (StoreKind.sqlite, UInt64(11), 400), (.sqlite, 12, 400), (.postgreSQL, 13, 120), (.dictionary, 14, 400),
        ]
    )
    func model(kind: StoreKind, seed: UInt64, steps: Int) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        var random = SeededGenerator(seed: seed)
        let policy = try #require(AttemptPolicy(rounds: 3, attemptsPerRound: 3, blocks: []))
        var wallets: [(wallet: TestWallet, failures: Int, permanent: Bool)] = []
        for _ in 0..<6 { wallets.append((try await TestWallet(in: store), 0, false)) }
        for step in 0..<steps {
            switch Int.random(in: 0..<20, using: &random) {
            case 0:
                let rule = try #require(EpochRule.allCases.randomElement(using: &random))
                try await self.open(rule, in: store)
                for index in wallets.indices where !wallets[index].permanent {
                    switch rule {
                    case .strict: wallets[index].failures = max(wallets[index].failures, 6)
                    case .chargeOne: wallets[index].failures = min(wallets[index].failures + 1, 8)
                    case .trust: break
                    }
                }
            case 1: _ = try await store.sweep(unopenedSince: Timestamp(milliseconds: 0))
            case let draw:
                let index = Int.random(in: wallets.indices, using: &random)
                let isRight = draw < 5
                let outcome = try await store.outcome(of: wallets[index].wallet.attempt(right: isRight, policy: policy))
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
                let kept = try #require(try await store.report(of: wallet.id)).attempts(under: policy)
                #expect(kept?.failures == failures, "seed \(seed), step \(step)")
                #expect(kept?.isBlockedPermanently == permanent, "seed \(seed), step \(step)")
            }
        }
    }
}

extension StorePlace {
    /// Returns the state in a wallet's row.
    fileprivate func state(of wallet: WalletID, in store: any WalletStore) async throws -> WalletState? {
        switch (self, store) {
        case (.postgreSQL(let place), _):
            let select = "select record from wallets where id = $1"
            return try place.connect().run(select, [.bytes(wallet.bytes)]).bytes(0, 0)
                .flatMap { NarrowRow(decoding: $0) }?.state
        case (_, let store as SQLiteWalletStore):
            return try await store.queue.perform { try $0.wallet(wallet)?.state }
        case (.dictionary(let contents), _): return contents.withLock { $0.wallets[wallet]?.row.state }
        default: return nil
        }
    }
}
