import Foundation
import SQLiteClient
import Glibc
import HostSystem
import PINPolicy
import TestSupport
import Testing
import Vocabulary

@testable import WalletStore

@Suite("A store's files")
struct StoreFilesTests {
    private let folder = TemporaryFolder()
    private let other = TemporaryFolder()
    private var path: String { self.folder.file("wallets.db") }

    /// The files of a process that was killed after wrong PINs, with these commits only in the log.
    private func killed() async throws {
        let store = try self.other.store()
        let wallet = try await TestWallet(in: store)
        for _ in 0..<3 { _ = try await store.outcome(of: wallet.attempt(right: false)) }
        for name in ["wallets.db", "wallets.db-wal", "wallets.db-mark"] {
            try FileManager.default.copyItem(atPath: self.other.file(name), toPath: self.folder.file(name))
        }
        await store.close()
    }

    private func isRefused(_ path: String, sourceLocation: SourceLocation = #_sourceLocation) {
        let before = try? DurableFile.names(in: self.folder.path)
        let error = #expect(throws: StoreOpenError.self, sourceLocation: sourceLocation) {
            _ = try SQLiteWalletStore.open(folder: self.folder.path, key: .test)
        }
        guard case .foreignFile(let reason)? = error else {
            Issue.record("\(error as Any)", sourceLocation: sourceLocation)
            return
        }
        #expect(reason.hasPrefix("\(path): "), sourceLocation: sourceLocation)
        // A start that is refused leaves at most its lock.
        let after = try? DurableFile.names(in: self.folder.path)
        #expect(after?.filter { $0 != "lock" } == before?.filter { $0 != "lock" }, sourceLocation: sourceLocation)
        let state = #expect(throws: StoreOpenError.self, sourceLocation: sourceLocation) {
            _ = try StoreFilesState(folder: self.folder.path)
        }
        #expect(state == error, sourceLocation: sourceLocation)
    }

    @Test(
        "a link, a second name, a folder or a pipe in place of a store's file is refused with its path",
        arguments: ["wallets.db", "wallets.db-wal", "wallets.db-mark"]
    )
    func oddFiles(name: String) async throws {
        try await self.killed()
        let (file, moved) = (self.folder.file(name), self.other.file("moved"))
        // Attack: through the link, SQLite would use the log beside the target, which is missing.
        try FileManager.default.moveItem(atPath: file, toPath: moved)
        try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: moved)
        self.isRefused(file)
        try DurableFile.remove(file)
        try FileManager.default.linkItem(atPath: moved, toPath: file)
        self.isRefused(file)
        try DurableFile.remove(file)
        try #require(unsafe mkfifo(file, 0o600) == 0)
        self.isRefused(file)
        try DurableFile.remove(file)
        try DurableFile.makeFolder(file)
        self.isRefused(file)
        #expect(unsafe rmdir(file) == 0)
        try FileManager.default.copyItem(atPath: moved, toPath: file)
        let store = try SQLiteWalletStore.open(folder: self.folder.path, key: .test)
        #expect(try await store.listing(after: nil, limit: 1).map { $0.attempts?.failures } == [3])
        await store.close()
    }

    @Test("a dangling link is no missing store, and a linked folder is a store's folder like any other")
    func links() async throws {
        try FileManager.default.createSymbolicLink(atPath: self.path, withDestinationPath: self.path + ".none")
        for creating in [false, true] {
            let error = #expect(throws: StoreOpenError.self) {
                try SQLiteWalletStore.open(folder: self.folder.path, key: .test, creating: creating)
            }
            guard case .foreignFile? = error else {
                Issue.record("\(error as Any)")
                continue
            }
        }
        let link = self.other.file("link")
        let target = TemporaryFolder()
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target.path)
        let store = try SQLiteWalletStore.open(folder: link, key: .test, creating: true)
        let wallet = try await TestWallet(in: store)
        _ = try await store.outcome(of: wallet.attempt(right: false))
        await store.close()
        let again = try SQLiteWalletStore.open(folder: target.path, key: .test)
        #expect(try await again.listing(after: nil, limit: 1).map { $0.attempts?.failures } == [1])
        await again.close()
        #expect(try StoreFilesState(folder: link).holder == nil)
        #expect(StoreFilesState.structureFindings(in: link) == [])
    }

    @Test("a link at the lock is not written through")
    func lock() async throws {
        let victim = try self.other.write("content", to: "victim")
        try FileManager.default.createSymbolicLink(atPath: self.folder.file("lock"), withDestinationPath: victim)
        let error = #expect(throws: StoreOpenError.self) { try self.folder.store() }
        guard case .foreignFile? = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(try DurableFile.read(victim, atMost: 100) == Array("content".utf8))
    }

    @Test("SQLite's own connection does not follow a link that appears after the checks")
    func race() async throws {
        await (try self.other.store()).close()
        try FileManager.default.createSymbolicLink(
            atPath: self.path,
            withDestinationPath: self.other.file("wallets.db")
        )
        #expect(throws: DatabaseFile.IsOther.self) {
            try Schema.open(self.path)
        }
        #expect(StructureCheck.findings(in: self.path).isEmpty == false)
    }

    @Test("a store that ends earlier for SQLite than for the checks is refused, whatever the cause")
    func generation() async throws {
        let store = try self.folder.store()
        let wallet = try await TestWallet(in: store)
        _ = try await store.outcome(of: wallet.attempt(right: false))
        let last = store.generation
        await store.close()
        let database = try SQLiteDatabase(self.path)
        for least in [0, 1, last] { try SQLiteWalletStore.requireGeneration(least, in: database) }
        #expect(throws: StoreOpenError.damaged(.behind(last: last, mark: last + 1))) {
            try SQLiteWalletStore.requireGeneration(last + 1, in: database)
        }
        database.close()
        #expect(try StoreCheck.run(self.path) == last)
    }

    @Test("opening a store compares the generation that SQLite finds with the mark's, and changes nothing before")
    func openedGeneration() async throws {
        let store = try self.folder.store()
        let wallet = try await TestWallet(in: store)
        _ = try await store.outcome(of: wallet.attempt(right: false))
        let last = store.generation
        await store.close()
        let before = try DurableFile.read(self.path, atMost: 1 << 24)
        // A mark without a page: the check before SQLite cannot compare its generation with the file's.
        let mark = self.folder.file("wallets.db-mark")
        try DurableFile.write(StoreMark.Content(generation: last + 1).encoded(), to: mark)
        #expect(try StoreCheck.run(self.path) == last + 1)
        #expect(throws: StoreOpenError.damaged(.behind(last: last, mark: last + 1))) {
            try SQLiteWalletStore.open(folder: self.folder.path, key: .test)
        }
        #expect(try DurableFile.read(self.path, atMost: 1 << 24) == before)
        try DurableFile.write(StoreMark.Content(generation: last).encoded(), to: mark)
        await (try SQLiteWalletStore.open(folder: self.folder.path, key: .test)).close()
    }

    @Test("a rollback journal, which would put older pages into the store, is refused with its path")
    func journal() async throws {
        await (try self.folder.store()).close()
        let journal = try self.folder.write("", to: "wallets.db-journal")
        self.isRefused(journal)
        try DurableFile.remove(journal)
        await (try self.folder.store()).close()
    }

    @Test("a store without its mark is refused, also after an orderly stop and a restore")
    func mark() async throws {
        await (try self.folder.store()).close()
        let staged = try StagedStore(folder: self.other.path)
        let bytes = try DurableFile.read(self.path, atMost: 1 << 24)
        try DurableFile.write(bytes, to: staged.file)
        await (try staged.open(key: .test)).close()
        try staged.place()
        for folder in [self.folder, self.other] {
            let mark = folder.file("wallets.db-mark")
            let content = try DurableFile.read(mark, atMost: 100)
            for damage in [{ try DurableFile.remove(mark) }, { try DurableFile.write([], to: mark) }] {
                try damage()
                #expect(throws: StoreOpenError.damaged(.markMissing)) {
                    try SQLiteWalletStore.open(folder: folder.path, key: .test)
                }
            }
            try DurableFile.write(content, to: mark)
            await (try SQLiteWalletStore.open(folder: folder.path, key: .test)).close()
        }
    }

    @Test("a folder of a restore that is a link is refused, and the files in its target stay")
    func linkedStaging() throws {
        try DurableFile.write([1], to: self.other.file("kept"))
        let mark = self.folder.file("wallets.db-mark")
        try FileManager.default.createSymbolicLink(atPath: mark, withDestinationPath: self.other.file("kept"))
        let odd = StoreOpenError(FileError.odd(mark, .symbolicLink))
        #expect(throws: odd) { try StagedStore(folder: self.folder.path) }
        try DurableFile.remove(mark)
        let link = self.folder.file("restoring")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: self.other.path)
        #expect(throws: StoreOpenError.self) { try StagedStore(folder: self.folder.path) }
        #expect(DurableFile.exists(self.other.file("kept")))
    }

    @Test("beyond a limit on file sizes calls are refused like on a full disk, and the store continues by itself")
    func fileSizeLimit() async throws {
        await (try self.folder.store()).close()
        await #expect(processExitsWith: .success) { [path = self.folder.path as String] in
            StandardStreams.prepare(statusOfLostOutput: 1)
            let store = try SQLiteWalletStore.open(folder: path, key: .test)
            var limit = rlimit()
            unsafe getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            let before = limit
            limit.rlim_cur = 1 << 17
            unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            await #expect(throws: StoreError.unavailable) {
                for _ in 0..<100 { _ = try await TestWallet(in: store) }
            }
            limit = before
            unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            let wallet = try await TestWallet(in: store)
            _ = try await store.outcome(of: wallet.attempt(right: true))
            await store.close()
        }
    }

    @Test("a failed write for lack of room may be repeated; a failed sync and other errors may not")
    func lackOfRoom() {
        // The codes of `sqlite3.h`: full, write, sync, truncate.
        #expect(SQLiteFailure.isLackOfRoom(13, 0))
        for code in [ENOSPC, EDQUOT, EFBIG] {
            #expect(SQLiteFailure.isLackOfRoom(778, code))
            #expect(!SQLiteFailure.isLackOfRoom(1034, code) && !SQLiteFailure.isLackOfRoom(1546, code))
        }
        for code in [0, EIO, EROFS, EBADF] { #expect(!SQLiteFailure.isLackOfRoom(778, code)) }
    }

    @Test("the records of a closed store are verified without the store: damaged ones are named, ended ones are not")
    func records() async throws {
        let store = try self.folder.store()
        var wallets: [TestWallet] = []
        for _ in 0..<5 { wallets.append(try await TestWallet(in: store)) }
        _ = try await store.revoke(wallets: [wallets[4].id], at: TestWallet.start)
        await store.close()
        let sound = try StoredRecords(in: self.folder.path, key: .test) { _ in }
        #expect(sound.genuine == 4 && sound.damaged == [] && sound.unreadable == 0 && sound.namesKey == true)
        let otherKey = try StoredRecords(in: self.folder.path, key: .other) { _ in }
        #expect(otherKey.genuine == 0 && otherKey.damaged.count == 4 && otherKey.namesKey == false)
        let database = try SQLiteDatabase(self.path)
        try database.execute(
            """
            UPDATE attempts SET record = zeroblob(length(record)) WHERE wallet IN (1, 5);
            DELETE FROM attempts WHERE wallet = 2;
            UPDATE wallets SET state = x'01' WHERE key = 3;
            """
        )
        database.close()
        let before = try self.folder.contents()
        let found = try StoredRecords(in: self.folder.path, key: .test) { _ in }
        #expect(found.damaged == wallets[0..<3].map(\.id) && found.genuine == 1)
        #expect(try self.folder.contents() == before)
        // The same wallets are in a listing, which no damaged row ends.
        let again = try self.folder.store()
        let listed = try await again.listing(after: nil, limit: 9)
        #expect(listed.map(\.walletID) == wallets.map(\.id))
        #expect(listed.map { $0.attempts == nil } == [true, true, true, false, true])
        await again.close()
    }
}
