import Foundation
import GRDB
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
            #expect(good.count == KeptAttempts.byteCount)
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
            #expect(try connection.attempted(wallet.id)?.attempts.record.failures == 3)
        }
    }

    @Test("a record of another wallet, or of another key, is rejected")
    func foreign() async throws {
        let (wallet, other) = (try await self.wallet(failures: 3), try await self.wallet(failures: 0))
        try self.connected { connection in
            try connection.db.execute(
                sql: "UPDATE attempts SET record = (SELECT record FROM attempts WHERE wallet = 2) WHERE wallet = 1"
            )
            #expect(throws: StoreError.corrupt) { try connection.attempted(wallet.id) }
            #expect(try connection.attempted(other.id)?.attempts.record.failures == 0)
        }
        try self.connected(.other) { connection in
            #expect(throws: StoreError.corrupt) { try connection.attempted(other.id) }
            try #expect(connection.recordMACs() == .ofAnotherKey)
            try #expect(connection.adoptRecords() == 0)
        }
    }

    @Test("a removed record is damage, not an empty one: no PIN is judged and the wallet is named")
    func removed() async throws {
        let (wallet, other) = (try await self.wallet(failures: 3), try await self.wallet(failures: 1))
        try self.connected { try $0.db.execute(sql: "DELETE FROM attempts WHERE wallet = 1") }
        let store = try self.folder.store()
        await #expect(throws: StoreError.corrupt) { try await store.outcome(of: wallet.attempt(right: true)) }
        #expect(try await store.report(of: wallet.id)?.attempts == nil)
        #expect(try await store.listing(after: nil, limit: 9).map { $0.attempts?.failures } == [nil, 1])
        let check = try await store.checkRecords(after: nil, limit: 9)
        #expect(check == RecordCheck(damaged: [wallet.id], next: nil))
        let first = try await store.checkRecords(after: nil, limit: 1)
        #expect(first.damaged == [wallet.id])
        #expect(first.next != nil)
        #expect(try await store.checkRecords(after: first.next, limit: 9).damaged == [])
        #expect(try await store.blockPermanently([wallet.id]) == 0)
        // Revoked: nothing of it is needed any more.
        _ = try await store.revoke(wallets: [wallet.id], at: TestWallet.start)
        #expect(try await store.checkRecords(after: nil, limit: 9).damaged == [])
        guard case .valid = try await store.outcome(of: other.attempt(right: true)) else {
            Issue.record("the other wallet is rejected")
            return
        }
        await store.close()
    }

    @Test("a store of version 13 keeps its counts and gets MACs once; a record that was damaged then stays rejected")
    func adopted() async throws {
        let (counted, fresh) = (try await self.wallet(failures: 3), try await self.wallet(failures: 0))
        let damaged = try await self.wallet(failures: 2)
        try self.connected { connection in
            try connection.setRecord(connection.recordInFirstForm())
            try connection.db.execute(
                sql: """
                    DROP TABLE record_key; PRAGMA user_version = 13; DELETE FROM attempts WHERE wallet = 2;
                    UPDATE attempts SET record = zeroblob(44) WHERE wallet = 3;
                    """
            )
        }
        try DurableFile.remove(self.folder.file("wallets.db-mark"))
        let store = try self.folder.store()
        await #expect(throws: StoreError.corrupt, "not before it is known that the key is the right one") {
            try await store.outcome(of: counted.attempt(right: true))
        }
        #expect(try await store.recordMACs() == .missing)
        #expect(try await store.adoptRecords() == 2)
        let failures = try await store.listing(after: nil, limit: 9).map { $0.attempts?.failures }
        #expect(failures == [3, 0, nil])
        await #expect(throws: StoreError.corrupt) { try await store.outcome(of: damaged.attempt(right: true)) }
        guard case .valid = try await store.outcome(of: fresh.attempt(right: true)) else {
            Issue.record("a wallet that never guessed is rejected")
            return
        }
        await store.close()
        // Not a second time: an attacker could otherwise write records without a MAC.
        try self.connected { connection in
            try connection.setRecord(connection.recordInFirstForm())
            try #expect(connection.recordMACs() == .present)
            try #expect(connection.adoptRecords() == 0)
            #expect(throws: StoreError.corrupt) { try connection.attempted(counted.id) }
        }
    }

    @Test("a record in the first form is read, and the next judged attempt writes the present form")
    func firstForm() async throws {
        let wallet = try await self.wallet(failures: 2)
        try self.connected { connection in
            let plain = try connection.recordInFirstForm()
            try connection.setRecord(plain + RecordKey.test.mac(of: plain, of: wallet.id))
            let found = try #require(try connection.attempted(wallet.id)).attempts
            #expect(found.record.failures == 2 && found.record.wrongPINs == 0 && found.number == 2)
        }
        let store = try self.folder.store()
        _ = try await store.outcome(of: wallet.attempt(right: false))
        await store.close()
        try self.connected { connection in
            try #expect(connection.record().count == KeptAttempts.byteCount)
            let found = try #require(try connection.attempted(wallet.id)).attempts
            #expect(found.record.failures == 3 && found.record.wrongPINs == 1 && found.number == 3)
        }
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
        let database = try DatabaseQueue(path: self.folder.file("wallets.db"))
        try database.inDatabase { try body(StoreConnection($0, key: key)) }
        try database.close()
    }
}

extension StoreConnection {
    /// The stored record of the first wallet.
    fileprivate func record() throws -> [UInt8] {
        [UInt8](try #require(try Data.fetchOne(self.db, sql: "SELECT record FROM attempts WHERE wallet = 1")))
    }

    /// The same as a server of version 13 wrote it: in the first form and without a MAC.
    fileprivate func recordInFirstForm() throws -> [UInt8] {
        let record = try self.record()
        var bytes: [UInt8] = [1]
        bytes += record[1..<AttemptRecord.firstByteCount]
        bytes += record.dropFirst(AttemptRecord.byteCount).prefix(8)
        return bytes
    }

    fileprivate func setRecord(_ bytes: [UInt8]) throws {
        try self.db.execute(sql: "UPDATE attempts SET record = ? WHERE wallet = 1", arguments: [bytes.blob])
    }
}
