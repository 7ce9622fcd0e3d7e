import HostSystem
import SQLiteClient
import TestSupport
import Testing

@testable import WalletStore

@Suite("The check of a database's structure")
struct StructureTests {
    private let folder = TemporaryFolder()

    @Test("a sound file has no findings and is not changed; one with two swapped pages has some, as has a missing one")
    func findings() async throws {
        let store = try self.folder.store()
        let wallet = try await TestWallet(in: store)
        _ = try await store.outcome(of: wallet.attempt(right: true))
        await store.close()
        var bytes = try DurableFile.read(self.folder.file("wallets.db"), atMost: 1 << 24)
        let file = self.folder.file("100% wallets?.db")
        try DurableFile.write(bytes, to: file)
        #expect(await StoreFile.findings(in: file) == [])
        #expect(try DurableFile.read(file, atMost: 1 << 24) == bytes)
        let (first, second) = (Array(bytes[4096..<8192]), Array(bytes[8192..<12_288]))
        bytes.replaceSubrange(4096..<12_288, with: second + first)
        try DurableFile.write(bytes, to: file)
        #expect(await StoreFile.findings(in: file).isEmpty == false)
        #expect(await StoreFile.findings(in: file + ".none").isEmpty == false)
    }

    @Test(
        "two swapped pages of an index or a table are found in a copy and while wallets are served",
        arguments: [indexPage, tablePage]
    )
    func swapped(kind: UInt8) async throws {
        let (file, pageSize) = (self.folder.file("wallets.db"), 4096)
        var store = try self.folder.store()
        _ = try await TestWallet(in: store)
        try await store.addCopies(500)
        _ = try await store.damagedWallets(after: nil, limit: 1000)
        await store.close()
        var bytes = try DurableFile.read(file, atMost: 1 << 24)
        #expect(await StoreFile.findings(in: file) == [])
        // Pages of this kind with more than five cells (SQLite's file format, 1.6) belong to wallets or their index.
        let all = stride(from: pageSize, to: bytes.count, by: pageSize)
        let pages = all.filter { bytes[$0] == kind && bytes[$0 + 4] > 5 }
        let (first, last) = (try #require(pages.first), try #require(pages.last))
        for place in 0..<pageSize { bytes.swapAt(first + place, last + place) }
        try DurableFile.write(bytes, to: file)
        #expect(await StoreFile.findings(in: file).isEmpty == false)
        store = try self.folder.store()
        await #expect(throws: StoreError.corrupt) { try await store.damagedWallets(after: nil, limit: 1000) }
        await store.close()
    }
}

/// The first byte of a leaf page of an index, and that of a leaf page of a table.
private let (indexPage, tablePage): (UInt8, UInt8) = (0x0A, 0x0D)

extension SQLiteWalletStore {
    /// Adds rows like the first wallet's with random ids.
    fileprivate func addCopies(_ count: Int) async throws {
        let sql = """
            INSERT INTO wallets SELECT key + copy, state, pin_key_id, unlock_share, identity, presence_share,
                deletion_code, recovery_mac, hardware_key, randomblob(16), deletion_digest, registered_at
            FROM wallets, (WITH RECURSIVE copies (copy) AS (SELECT 1 UNION SELECT copy + 1 FROM copies LIMIT \(count))
                SELECT copy FROM copies)
            """
        try await self.queue.perform { try $0.db.execute(sql) }
    }
}
