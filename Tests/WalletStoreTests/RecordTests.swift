import Foundation
import SQLiteClient
import HostSystem
import PINPolicy
import TestSupport
import Testing
import Vocabulary

@testable import WalletStore

/// Attacks on stored attempt records by an attacker who can write the database and has no key.
@Suite("Attempt records under a MAC")
struct RecordTests {
    private let folder = TemporaryFolder()

    @Test("a record with one changed bit, zeros or another length is rejected, wherever the change is")
    func changed() async throws {
        let wallet = try await self.wallet(failures: 3)
        try self.connected { connection in
            let good = try connection.record()
            #expect(good.count == KeptAttempts.byteCount(of: .first))
            var bad = [[UInt8](repeating: 0, count: good.count), [], good.dropLast(8), good + [0]]
            for bit in 0..<(8 * good.count) {
                var bytes = good
                bytes[bit / 8] ^= 1 << (bit % 8)
                bad.append(bytes)
            }
            for bytes in bad {
                try connection.setRecord(bytes)
                #expect(throws: StoreError.corrupt, "\(bytes)") { try connection.attempted(wallet.id) }
            }
            try connection.setRecord(good)
            #expect(try connection.attempted(wallet.id)?.wallet.attempts?.record.failures == 3)
        }
    }

    @Test("a record of another wallet, or of another key, is rejected")
    func foreign() async throws {
        let (wallet, other) = (try await self.wallet(failures: 3), try await self.wallet(failures: 0))
        try self.connected { connection in
            try connection.db.execute(
                "UPDATE attempts SET record = (SELECT record FROM attempts WHERE wallet = 2) WHERE wallet = 1"
            )
            #expect(throws: StoreError.corrupt) { try connection.attempted(wallet.id) }
            #expect(try connection.attempted(other.id)?.wallet.attempts?.record.failures == 0)
        }
        try self.connected(.other) { connection in
            #expect(throws: StoreError.corrupt) { try connection.attempted(other.id) }
            try #expect(!RecordKeyFits().run(in: connection))
        }
    }

    @Test("a removed record is damage, not an empty one: no PIN is judged and the wallet is named")
    func removed() async throws {
        let (wallet, other) = (try await self.wallet(failures: 3), try await self.wallet(failures: 1))
        try self.connected { try $0.db.execute("DELETE FROM attempts WHERE wallet = 1") }
        let store = try self.folder.store()
        await #expect(throws: StoreError.corrupt) { try await store.outcome(of: wallet.attempt(right: true)) }
        #expect(try await store.report(of: wallet.id)?.attempts == nil)
        #expect(try await store.listing(after: nil, limit: 9).map { $0.attempts?.failures } == [nil, 1])
        let check = try await store.damagedWallets(after: nil, limit: 9)
        #expect(check == WalletPage(wallets: [wallet.id], next: nil))
        let first = try await store.damagedWallets(after: nil, limit: 1)
        #expect(first.wallets == [wallet.id])
        #expect(first.next != nil)
        #expect(try await store.damagedWallets(after: first.next, limit: 9).wallets == [])
        #expect(try await store.blockPermanently([wallet.id]) == 0)
        // Revoked: nothing of it is needed any more.
        _ = try await store.revoke(wallets: [wallet.id], at: TestWallet.start)
        #expect(try await store.damagedWallets(after: nil, limit: 9).wallets == [])
        guard case .valid = try await store.outcome(of: other.attempt(right: true)) else {
            Issue.record("the other wallet is rejected")
            return
        }
        await store.close()
    }

    @Test("a store with wallets that does not name its records' key is damaged, and no later opening names one")
    func unnamedKey() async throws {
        _ = try await self.wallet(failures: 1)
        try self.connected { connection in
            try #expect(RecordKeyFits().run(in: connection))
            try connection.db.execute("DELETE FROM record_key")
        }
        let store = try self.folder.store()
        await #expect(throws: StoreError.corrupt) { try await store.recordKeyFits() }
        await store.close()
    }

    @Test("the generation rises with each commit that changes the store, and only then; a restart keeps it")
    func generation() async throws {
        let wallet = try await self.wallet(failures: 0)
        var store = try self.folder.store()
        let start = store.generation
        #expect(start > 0)
        _ = try await store.outcome(of: wallet.attempt(right: false))
        #expect(store.generation == start + 1)
        _ = try await store.outcome(of: wallet.attempt(right: true))
        #expect(store.generation == start + 2)
        _ = try await store.report(of: wallet.id)
        _ = try await store.setSolutionRevoked(false)
        #expect(store.generation == start + 2)
        await store.close()
        store = try self.folder.store()
        #expect(store.generation == start + 2)
        await store.close()
    }

    /// A wallet with a number of wrong PINs, in a store that is closed again.
    private func wallet(failures: Int) async throws -> TestWallet {
        let store = try self.folder.store()
        let wallet = try await TestWallet(in: store)
        for _ in 0..<failures { _ = try await store.outcome(of: wallet.attempt(right: false)) }
        await store.close()
        return wallet
    }

    /// Lends the closed store's file.
    private func connected(_ key: RecordKey = .test, _ body: (StoreConnection) throws -> Void) throws {
        let database = try SQLiteDatabase(self.folder.file("wallets.db"))
        try body(StoreConnection(database, key: key))
        database.close()
    }
}

extension StoreConnection {
    /// The stored record of the first wallet.
    fileprivate func record() throws -> [UInt8] {
        try #require(try self.db.run("SELECT record FROM attempts WHERE wallet = 1").first).bytes(0)
    }

    fileprivate func setRecord(_ bytes: [UInt8]) throws {
        try self.db.run("UPDATE attempts SET record = ? WHERE wallet = 1", [.bytes(bytes)])
    }
}
