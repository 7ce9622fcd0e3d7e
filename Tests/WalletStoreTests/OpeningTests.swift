import Foundation
import SQLiteClient
import HostSystem
import TestSupport
import Testing
import Vocabulary

@testable import WalletStore

@Suite("Opening a store")
struct OpeningTests {
    private let folder: TemporaryFolder

    init() throws {
        self.folder = TemporaryFolder()
    }

    @Test("opening a folder in use fails with the id of the process that holds it, and succeeds once that releases it")
    func inUse() async throws {
        let store = try self.folder.store()
        #expect(throws: StoreOpenError.inUse(pid: ProcessInfo.processInfo.processIdentifier)) {
            try self.folder.store()
        }
        await store.close()
        await (try self.folder.store()).close()
    }

    @Test("a missing store is created only on request: an empty one would forget every count")
    func missing() throws {
        #expect(throws: StoreOpenError.missing(path: self.folder.path + "/wallets.db")) {
            try SQLiteWalletStore.open(folder: self.folder.path, key: .test)
        }
        #expect(throws: StoreOpenError.missing(path: self.folder.path + "/none")) {
            try SQLiteWalletStore.open(folder: self.folder.path + "/none", key: .test)
        }
    }

    @Test("a file of a newer version is rejected and not changed")
    func newer() async throws {
        await (try self.folder.store()).close()
        try self.change("PRAGMA user_version = 999")
        let before = try self.folder.contents()
        #expect(throws: StoreOpenError.newerVersion(found: 999, known: Schema.current.version)) {
            try self.folder.store()
        }
        #expect(try self.folder.contents() == before)
    }

    @Test(
        "a file that is not a store is rejected unchanged, also an empty one and other programs' databases",
        arguments: 0..<4
    )
    func notAStore(kind: Int) async throws {
        let path = self.folder.path + "/wallets.db"
        switch kind {
        case 0: try Data("Dear diary, this is not a database.".utf8).write(to: URL(fileURLWithPath: path))
        case 1: try Data().write(to: URL(fileURLWithPath: path))
        case 2: try self.change("CREATE TABLE diary (entry TEXT); PRAGMA user_version = 1")
        default: try self.change("CREATE TABLE diary (entry TEXT)")
        }
        let before = try self.folder.contents()
        #expect(throws: StoreOpenError.notAStore) { try SQLiteWalletStore.open(folder: self.folder.path, key: .test) }
        #expect(try self.folder.contents() == before)
    }

    @Test("a backup in place of a store is rejected without changing a byte, so that it can still be restored")
    func backup() async throws {
        await (try self.folder.store()).close()
        try StoreFile.mark(self.folder.file("wallets.db"), as: .backup)
        let before = try self.folder.contents()
        for creating in [false, true] {
            #expect(throws: StoreOpenError.backup) {
                try SQLiteWalletStore.open(folder: self.folder.path, key: .test, creating: creating)
            }
        }
        #expect(try self.folder.contents() == before)
        try StoreFile.mark(self.folder.file("wallets.db"), as: .store)
        await (try self.folder.store()).close()
    }

    @Test("a store whose creation was interrupted, with all contents still in its log, is opened")
    func inLog() async throws {
        let made = TemporaryFolder()
        let database = try Schema.open(made.file("wallets.db"))
        try Schema.current.migrate(database, creating: true)
        for name in ["wallets.db", "wallets.db-wal"] {
            try DurableFile.write(DurableFile.read(made.file(name), atMost: 1 << 26), to: self.folder.file(name))
        }
        database.close()
        let head = try DurableFile.read(self.folder.file("wallets.db"), atMost: 1 << 26)
        #expect(head[60..<72].allSatisfy { $0 == 0 })
        #expect(throws: StoreOpenError.damaged(.markMissing)) { try self.folder.store() }
        // It is made before SQLite opens the file.
        try StoreMark.create(of: self.folder.file("wallets.db"))
        let store = try SQLiteWalletStore.open(folder: self.folder.path, key: .test)
        #expect(try await store.walletCount() == 0)
        await store.close()
    }

    @Test("only the owner can read the files")
    func modes() throws {
        let store = try self.folder.store()
        for name in try FileManager.default.contentsOfDirectory(atPath: self.folder.path) {
            let attributes = try FileManager.default.attributesOfItem(atPath: self.folder.path + "/" + name)
            #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
        }
        withExtendedLifetime(store) {}
    }

    @Test("a damaged row fails only the steps of its own wallet", arguments: ["state", "pin_key_id", "id"])
    func damagedRow(column: String) async throws {
        let store = try self.folder.store()
        let damaged = try await TestWallet(in: store)
        let healthy = try await TestWallet(in: store)
        await store.close()
        if column == "id" {
            try self.change("INSERT OR REPLACE INTO attempts VALUES (1, x'0102')")
        } else {
            try self.change("UPDATE wallets SET \(column) = x'0102' WHERE key = 1")
        }
        let again = try self.folder.store()
        try await withThrowingTaskGroup(of: (Bool, AttemptOutcome?).self) { group in
            for index in 0..<40 {
                let isDamaged = index.isMultiple(of: 2)
                let attempt = try (isDamaged ? damaged : healthy).attempt(right: true)
                group.addTask {
                    do {
                        return (isDamaged, try await again.outcome(of: attempt))
                    } catch StoreError.corrupt {
                        return (isDamaged, nil)
                    }
                }
            }
            for try await (isDamaged, outcome) in group { #expect((outcome == nil) == isDamaged) }
        }
        _ = try await again.outcome(of: healthy.attempt(right: false))
    }

    private func change(_ sql: String) throws {
        let database = try SQLiteDatabase(self.folder.path + "/wallets.db")
        try database.execute(sql)
        database.close()
    }
}
