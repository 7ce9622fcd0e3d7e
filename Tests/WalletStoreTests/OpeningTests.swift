import Foundation
import GRDB
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

    @Test("a folder that is served says by which process, and is free once that lets go")
    func inUse() async throws {
        let store = try self.folder.store()
        #expect(throws: StoreOpenError.inUse(pid: ProcessInfo.processInfo.processIdentifier)) {
            try self.folder.store()
        }
        await store.close()
        await (try self.folder.store()).close()
    }

    @Test("where no store is, none is made unless asked for: an empty one would forget every count")
    func missing() throws {
        #expect(throws: StoreOpenError.missing(path: self.folder.path + "/wallets.db")) {
            try SQLiteWalletStore.open(folder: self.folder.path)
        }
        #expect(throws: StoreOpenError.missing(path: self.folder.path + "/none")) {
            try SQLiteWalletStore.open(folder: self.folder.path + "/none")
        }
    }

    @Test("a file of a newer version is refused and not touched")
    func newer() async throws {
        await (try self.folder.store()).close()
        try self.change("PRAGMA user_version = 999")
        let before = try self.folder.contents()
        #expect(throws: StoreOpenError.newerVersion(found: 999, known: Schema.version)) { try self.folder.store() }
        #expect(try self.folder.contents() == before)
    }

    @Test("what is no store is refused, also an emptied one and another program's database", arguments: 0..<3)
    func notAStore(kind: Int) async throws {
        let path = self.folder.path + "/wallets.db"
        switch kind {
        case 0: try Data("Dear diary, this is not a database.".utf8).write(to: URL(fileURLWithPath: path))
        case 1: try Data().write(to: URL(fileURLWithPath: path))
        default: try self.change("CREATE TABLE diary (entry TEXT); PRAGMA user_version = 1")
        }
        #expect(throws: StoreOpenError.notAStore) { try SQLiteWalletStore.open(folder: self.folder.path) }
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

    @Test("a damaged row fails its own wallet's steps and nobody else's", arguments: ["state", "pin_key_id", "id"])
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
                        return (isDamaged, try await again.judge(attempt))
                    } catch StoreError.corrupt {
                        return (isDamaged, nil)
                    }
                }
            }
            for try await (isDamaged, outcome) in group { #expect((outcome == nil) == isDamaged) }
        }
        _ = try await again.judge(healthy.attempt(right: false))
    }

    private func change(_ sql: String) throws {
        let database = try DatabaseQueue(path: self.folder.path + "/wallets.db")
        try database.writeWithoutTransaction { try $0.execute(sql: sql) }
        try database.close()
    }
}
