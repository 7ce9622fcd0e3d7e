import HostSystem
import TestSupport
import Testing
import Vocabulary

@testable import WalletStore

/// The removal of all due rows in steps of bounded time.
@Suite("Sweeps in steps of a few rows")
struct SweepingTests {
    private let later = TestWallet.start + .seconds(10)

    // Only SQLite reads rows that are not due.
    @Test("a registration behind more than one step of others is removed by a later sweep, in every new pass")
    func unopened() async throws {
        let place = try await StoreKind.sqlite.place()
        var store = try await place.open()
        let wallet = try await TestWallet(in: store, opened: false)
        await store.close()
        let evenLater = self.later + .seconds(10)
        try place.change(
            """
            WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < 600)
            INSERT INTO unopened (place, id, registered_at)
            SELECT -i, zeroblob(16), iif(i = 1, \(self.later.milliseconds), \(Int64.max)) FROM numbers
            """
        )
        store = try await place.open()
        var removed: [Int] = []
        for limit in [self.later, self.later, evenLater, evenLater] {
            removed.append(try await store.sweep(unopenedSince: limit))
        }
        #expect(removed == [0, 1, 0, 0])
        try await #expect(store.identity(of: wallet.id) == nil)
        await store.close()
        #expect(try place.count("unopened") == 599)
    }

    @Test(
        "wallets with a session, and wallets that ended before one, outlive their marks, however many there are",
        arguments: StoreKind.allCases
    )
    func marks(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let wallets = [try await TestWallet(in: store), try await TestWallet(in: store, opened: false)]
        try await store.recordWipe(of: wallets[1].id, at: TestWallet.start)
        // More marks than one step takes.
        try await withThrowingDiscardingTaskGroup { group in
            for _ in 0..<600 { group.addTask { _ = try await TestWallet(in: store) } }
        }
        try await #expect(store.sweep(unopenedSince: TestWallet.start) == 0)
        let fresh = try await TestWallet(in: store, opened: false)
        try await #expect(store.sweep(unopenedSince: self.later) == 1)
        try await #expect(store.identity(of: fresh.id) == nil)
        for wallet in wallets { try await #expect(store.identity(of: wallet.id) != nil) }
        try await #expect(store.register(wallets[1].registration()) == .tokenUsed)
        await store.close()
        #expect(try place.count("unopened") == 0)
        #expect(try place.count("wallets") == 602)
    }

    // Only for SQLite: PostgreSQL removes wallets concurrently with checks.
    @Test("only a few wallets are removed per commit, so that PIN checks between two commits do not wait long")
    func fewAtOnce() async throws {
        let place = try await StoreKind.sqlite.place()
        let store = try await place.open()
        for _ in 0..<20 { _ = try await TestWallet(in: store, opened: false) }
        var ended: [WalletID] = []
        for _ in 0..<20 {
            let wallet = try await TestWallet(in: store)
            try await store.recordWipe(of: wallet.id, at: TestWallet.start)
            ended.append(wallet.id)
        }
        let before = try #require(store as? SQLiteWalletStore).generation
        #expect(try await store.sweep(unopenedSince: self.later) == 20)
        let swept = try #require(store as? SQLiteWalletStore).generation
        #expect(try await store.purge(ended, endedBefore: self.later) == 20)
        let purged = try #require(store as? SQLiteWalletStore).generation
        #expect(swept - before == 3 && purged - swept == 3)
        await store.close()
        #expect(try place.count("wallets") == 0)
    }

    @Test("a purge examines only ended wallets", arguments: StoreKind.allCases)
    func purgeable(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        var ended: [WalletID] = []
        for seconds in [0, 20, 0] {
            let wallet = try await TestWallet(in: store)
            try await store.recordWipe(of: wallet.id, at: TestWallet.start + .seconds(seconds))
            // The wallet has already ended: the first end counts.
            try await store.recordWipe(of: wallet.id, at: TestWallet.start + .seconds(40))
            ended.append(wallet.id)
            _ = try await TestWallet(in: store)
        }
        var found: [WalletID] = []
        var steps = 0
        var next: UInt64?
        repeat {
            let some = try await store.purgeable(after: next, lookingAt: 1, endedBefore: self.later)
            (found, steps, next) = (found + some.wallets, steps + 1, some.next)
        } while next != nil && steps < 10
        #expect(found == [ended[0], ended[2]] && steps == 4)
        try await #expect(store.purge(ended, endedBefore: self.later) == 2)
        let left = try await store.purgeable(after: nil, lookingAt: 10, endedBefore: self.later + .seconds(60))
        #expect(left == WalletPage(wallets: [ended[1]], next: nil))
        await store.close()
        #expect(try place.count("ended") == 1)
    }
}
