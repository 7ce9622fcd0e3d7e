import GRDB
import HostSystem
import TestSupport
import Testing
import Vocabulary

@testable import WalletStore

/// The removal of all due rows in steps of bounded time.
@Suite("Sweeps in steps of a few rows")
struct SweepingTests {
    private let folder = TemporaryFolder()
    private let later = TestWallet.start + .seconds(10)

    @Test("a registration behind more than one step of others is removed by a later sweep, in every new pass")
    func unopened() async throws {
        let wallet = try await self.prepared { try await TestWallet(in: $0, opened: false) }
        let evenLater = self.later + .seconds(10)
        try self.change(
            """
            \(Self.numbers) INSERT INTO unopened (wallet, registered_at)
            SELECT -i, iif(i = 1, \(self.later.milliseconds), \(Int64.max)) FROM numbers
            """
        )
        let store = try self.folder.store()
        var removed: [Int] = []
        for limit in [self.later, self.later, evenLater, evenLater] {
            removed.append(try await store.sweep(unopenedSince: limit))
        }
        #expect(removed == [0, 1, 0, 0])
        try await #expect(store.identity(of: wallet) == nil)
        await store.close()
        #expect(try self.count("unopened") == 599)
    }

    @Test("wallets with a session, and wallets that ended before one, outlive their marks, however many there are")
    func marks() async throws {
        var wallets: [TestWallet] = []
        _ = try await self.prepared { store in
            wallets = [try await TestWallet(in: store), try await TestWallet(in: store, opened: false)]
            try await store.recordWipe(of: wallets[1].id, at: TestWallet.start)
            return wallets[0]
        }
        // Behind them 600 marks of wallets that had a session.
        try self.change(
            """
            UPDATE wallets SET key = 1000 WHERE key = 1; UPDATE unopened SET wallet = 1000 WHERE wallet = 1;
            \(Self.numbers) INSERT INTO wallets SELECT key + i, state, pin_key_id, unlock_share, identity,
                presence_share, deletion_code, recovery_mac, hardware_key, randomblob(16), NULL, registered_at
            FROM numbers, wallets WHERE key = 1000;
            INSERT INTO unopened SELECT key, registered_at FROM wallets WHERE key > 1000
            """
        )
        let store = try self.folder.store()
        try await #expect(store.sweep(unopenedSince: TestWallet.start) == 0)
        let fresh = try await TestWallet(in: store, opened: false)
        try await #expect(store.sweep(unopenedSince: self.later) == 1)
        try await #expect(store.identity(of: fresh.id) == nil)
        for wallet in wallets { try await #expect(store.identity(of: wallet.id) != nil) }
        try await #expect(store.register(wallets[1].registration()) == .tokenUsed)
        await store.close()
        #expect(try self.count("unopened") == 0)
        #expect(try self.count("wallets") == 602)
    }

    @Test("a purge examines only ended wallets, including those that an older server ended")
    func purgeable() async throws {
        var ended: [WalletID] = []
        _ = try await self.prepared { store in
            for seconds in [0, 20, 0] {
                let wallet = try await TestWallet(in: store)
                try await store.recordWipe(of: wallet.id, at: TestWallet.start + .seconds(seconds))
                // The wallet has already ended: the first end counts.
                try await store.recordWipe(of: wallet.id, at: TestWallet.start + .seconds(40))
                ended.append(wallet.id)
                _ = try await TestWallet(in: store)
            }
            return try await TestWallet(in: store)
        }
        for isOld in [false, true] {
            if isOld {
                try self.change("\(Self.undone) PRAGMA user_version = 7")
                try DurableFile.remove(self.folder.file("wallets.db-mark"))
            }
            let store = try self.folder.store()
            var looks = 0
            repeat { looks += 1 } while try await store.findEarlierEnds(lookingAt: 3) && looks < 10
            #expect(looks == (isOld ? 3 : 1))
            var found: [WalletID] = []
            var steps = 0
            var place: UInt64?
            repeat {
                let some = try await store.purgeable(after: place, lookingAt: 1, endedBefore: self.later)
                (found, steps, place) = (found + some.wallets, steps + 1, some.next)
            } while place != nil && steps < 10
            #expect(found == [ended[0], ended[2]] && steps == 4)
            if isOld {
                try await #expect(store.purge(ended, endedBefore: self.later) == 2)
                let left = try await store.purgeable(after: nil, lookingAt: 10, endedBefore: self.later + .seconds(60))
                #expect(left == Purgeable(wallets: [ended[1]], next: nil))
            }
            await store.close()
        }
        #expect(try self.count("ended") == 1 && self.count("ended_search") == 0)
    }

    /// The tables that later versions than 7 create.
    private static let undone = [
        "ended", "ended_search", "next_shares", "share_refresh", "barred_hardware_keys", "recorded_blocks",
        "audit_mark", "generation", "record_key",
    ].map { "DROP TABLE \($0);" }.joined(separator: " ")

    /// 600 rows: more than one step takes.
    private static let numbers = """
        WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < 600)
        """

    /// Creates a store, runs a body on it and closes it.
    private func prepared(_ fill: (SQLiteWalletStore) async throws -> TestWallet) async throws -> WalletID {
        let store = try self.folder.store()
        let wallet = try await fill(store)
        await store.close()
        return wallet.id
    }

    private func change(_ sql: String) throws {
        let database = try DatabaseQueue(path: self.folder.file("wallets.db"))
        try database.writeWithoutTransaction { try $0.execute(sql: sql) }
        try database.close()
    }

    private func count(_ table: String) throws -> Int? {
        let database = try DatabaseQueue(path: self.folder.file("wallets.db"))
        defer { try? database.close() }
        return try database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") }
    }
}
