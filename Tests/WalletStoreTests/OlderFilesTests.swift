import Foundation
import CSQLite
@testable import SQLiteClient
import HostSystem
import PINPolicy
import TestSupport
import Testing
import Vocabulary

@testable import WalletStore

/// A store's files from different times, put together.
@Suite("Older files of a store")
struct OlderFilesTests {
    private let live = TemporaryFolder()
    private let folder = TemporaryFolder()
    private var path: String { self.folder.file("wallets.db") }

    /// The bytes of the database, its log and its mark at one time.
    private struct Image {
        var store, log, mark: [UInt8]

        init(of folder: TemporaryFolder) throws {
            func read(_ name: String) throws -> [UInt8] {
                let path = folder.file(name)
                return DurableFile.exists(path) ? try DurableFile.read(path, atMost: 1 << 24) : []
            }
            (self.store, self.log) = (try read("wallets.db"), try read("wallets.db-wal"))
            self.mark = try read("wallets.db-mark")
        }

        func write(to folder: TemporaryFolder) throws {
            for (name, bytes) in [("", self.store), ("-wal", self.log), ("-mark", self.mark)] {
                try Data(bytes).write(to: URL(filePath: folder.file("wallets.db\(name)")))
            }
        }
    }

    /// The counted wrong PINs of each wallet if the files are accepted, or nil if they are rejected.
    private func counted() async throws -> [Int?]? {
        let store: SQLiteWalletStore
        do throws(StoreOpenError) {
            store = try SQLiteWalletStore.open(folder: self.folder.path, key: .test)
        } catch {
            guard case .damaged = error else { throw error }
            return nil
        }
        let counted = try await store.listing(after: nil, limit: 9).map { $0.attempts?.failures }
        await store.close()
        return counted
    }

    /// Copies the files of a process 40 times while three wallets make attempts, of which the second is not used in the
    /// second half.
    private func images() async throws -> [Image] {
        let store = try self.live.store()
        var images: [Image] = []
        let wallets = [
            try await TestWallet(in: store), try await TestWallet(in: store), try await TestWallet(in: store),
        ]
        for round in 0..<40 {
            if round < 20 { _ = try await store.outcome(of: wallets[1].attempt(right: round.isMultiple(of: 4))) }
            if round.isMultiple(of: 10) { _ = try await store.outcome(of: wallets[2].attempt(right: false)) }
            for _ in 0..<20 { _ = try await store.outcome(of: wallets[0].attempt(right: true)) }
            images.append(try Image(of: self.live))
        }
        await store.close()
        return images
    }

    @Test("an older database, log or mark among later files takes back no counted PIN, whatever its age")
    func mixed() async throws {
        let images = try await self.images()
        let last = try #require(images.last)
        #expect(Set(images.map { $0.log[16..<24] }).count > 3, "the log was not started over")
        try last.write(to: self.folder)
        let counts = try #require(try await self.counted())
        var rejected = 0
        for older in images.dropLast() {
            for change in [
                { (image: inout Image) in image.store = older.store },
                { image in image.log = older.log },
                { image in (image.store, image.mark) = (older.store, older.mark) },
                { image in (image.log, image.mark) = (older.log, older.mark) },
            ] {
                var image = last
                change(&image)
                try image.write(to: self.folder)
                let found = try await self.counted()
                if found == nil { rejected += 1 } else { #expect(found == counts) }
            }
        }
        #expect(rejected > 80, "\(rejected)")
    }

    @Test("an older database under a log that was started over since is rejected, and the reason names both commits")
    func olderDatabase() async throws {
        let images = try await self.images()
        var image = try #require(images.last)
        image.store = images[0].store
        try image.write(to: self.folder)
        let error = #expect(throws: StoreOpenError.self) {
            try SQLiteWalletStore.open(folder: self.folder.path, key: .test)
        }
        guard case .damaged(.olderDatabase(let last, let first))? = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(last + 1 < first)
        #expect(try Image(of: self.folder).store == image.store)
    }

    @Test("a log that was copied into the database in part is sound, whichever pages had been copied")
    func interruptedCheckpoint() async throws {
        let store = try self.live.store()
        let wallet = try await TestWallet(in: store)
        for _ in 0..<30 { _ = try await store.outcome(of: wallet.attempt(right: true)) }
        for _ in 0..<3 { _ = try await store.outcome(of: wallet.attempt(right: false)) }
        let before = try Image(of: self.live)
        try await store.queue.betweenBatches { _ = try? $0.db.checkpoint(SQLITE_CHECKPOINT_PASSIVE) }
        let after = try Image(of: self.live)
        await store.close()
        #expect(before.store != after.store && before.log == after.log)
        let pages = after.store.count / 4096
        for copied in 0...pages {
            // SQLite copies the pages in ascending order, and a power failure may keep any of them.
            for place in [0..<copied, copied..<pages] {
                var image = before
                if after.store.count > image.store.count {
                    image.store += [UInt8](repeating: 0, count: after.store.count - image.store.count)
                }
                let bytes = (4096 * place.lowerBound)..<(4096 * place.upperBound)
                image.store.replaceSubrange(bytes, with: after.store[bytes])
                try image.write(to: self.folder)
                #expect(try await self.counted() == [3], "pages \(place)")
            }
        }
    }

    @Test("the number of the last commit is read from a page that a power failure tore between two sectors")
    func tornPage() throws {
        for (old, new) in [(127, 128), (128, 129), (32_767, 32_768), (8_388_607, 8_388_608)] as [(Int64, Int64)] {
            let file = self.folder.file("\(new).db")
            let db = try SQLiteDatabase(file)
            try db.execute("PRAGMA secure_delete = ON")
            try Schema.current.migrate(db, creating: true)
            let page = Int(try StoreConnection(db, key: .test).generationPage())
            let pages = try [old, new].map { number in
                try db.run("UPDATE generation SET value = ?", [.number(number)])
                let bytes = try DurableFile.read(file, atMost: 1 << 24)
                return Array(bytes[((page - 1) * 4096)..<(page * 4096)])
            }
            db.close()
            for sector in 0...8 {
                for (first, second) in [(pages[0], pages[1]), (pages[1], pages[0])] {
                    let torn = Array(first[..<(512 * sector)] + second[(512 * sector)...])
                    let found = StoreCheck.generation(in: torn)
                    #expect(found == UInt64(old) || found == UInt64(new), "\(new), sector \(sector)")
                }
            }
        }
    }

    /// A program's rewriting of a closed store that keeps all rows.
    enum Rewriting: CaseIterable {
        case vacuum, pageSize, reload
    }

    private func rewrite(_ rewriting: Rewriting) throws {
        let db = try SQLiteDatabase(self.path)
        defer { db.close() }
        switch rewriting {
        case .vacuum: try db.execute("VACUUM")
        case .pageSize:
            try db.execute("PRAGMA journal_mode = DELETE")
            try db.execute("PRAGMA page_size = 8192; VACUUM")
        case .reload:
            let entries = try SchemaEntry.all(in: db).filter { !$0.definition.isEmpty }
            try db.run("ATTACH ? AS reloaded", [.text(self.folder.file("reloaded.db"))])
            // Another order of the tables gives them other pages.
            for entry in entries.reversed() where entry.kind == "table" {
                try db.execute(entry.definition.replacing("CREATE TABLE ", with: "CREATE TABLE reloaded."))
                try db.execute("INSERT INTO reloaded.\(entry.name) SELECT * FROM main.\(entry.name)")
            }
            for entry in entries where entry.kind == "index" {
                try db.execute(entry.definition.replacing("INDEX ", with: "INDEX reloaded."))
            }
            for pragma in ["application_id", "user_version"] {
                let value = try db.number("PRAGMA main.\(pragma)") ?? 0
                try db.execute("PRAGMA reloaded.\(pragma) = \(value)")
            }
            try db.execute("DETACH reloaded")
        }
        guard rewriting == .reload else { return }
        try DurableFile.remove(self.path)
        try FileManager.default.moveItem(atPath: self.folder.file("reloaded.db"), toPath: self.path)
    }

    @Test("a closed store that another program rewrote is served if it has all rows", arguments: Rewriting.allCases)
    func rewritten(_ rewriting: Rewriting) async throws {
        let store = try self.folder.store()
        let wallet = try await TestWallet(in: store)
        for _ in 0..<3 { _ = try await store.outcome(of: wallet.attempt(right: false)) }
        let last = store.generation
        await store.close()
        let older = try DurableFile.read(self.path, atMost: 1 << 24)
        try self.rewrite(rewriting)
        #expect(try StoreFilesState(folder: self.folder.path).generation == last)
        #expect(try await self.counted() == [3])
        #expect(try await self.counted() == [3])
        // The rewritten store has a mark like any other.
        let again = try SQLiteWalletStore.open(folder: self.folder.path, key: .test)
        _ = try await again.outcome(of: wallet.attempt(right: false))
        await again.close()
        try DurableFile.write(older, to: self.path)
        try self.rewrite(rewriting)
        #expect(try await self.counted() == nil)
    }

    /// A change to a file that a process has open.
    enum Change: CaseIterable, Codable {
        case removed, replaced, overwritten

        func make(_ path: String) throws {
            switch self {
            case .removed: try DurableFile.remove(path)
            case .replaced: try DurableFile.write(try DurableFile.read(path, atMost: 1 << 24), to: path)
            case .overwritten:
                let bytes = try DurableFile.read(path, atMost: 1 << 24)
                let file = try RecordFile(opening: path)
                try file.write(bytes, at: 0)
            }
        }
    }

    @Test(
        "a process whose files are removed, replaced or written by another program judges nothing more and ends",
        arguments: ["wallets.db", "wallets.db-wal", "wallets.db-mark", "audit.log.mark"],
        Change.allCases
    )
    func exchanged(name: String, change: Change) async {
        // A mark is overwritten again by the next commit.
        guard change != .overwritten || !name.hasSuffix("mark") else { return }
        await #expect(processExitsWith: .exitCode(71)) { [name = name as String, change = change as Change] in
            let folder = TemporaryFolder()
            let store = try SQLiteWalletStore.open(
                folder: folder.path,
                key: .test,
                creating: true,
                onFatal: { exit("\($0)".contains(name) ? 71 : 72) }
            )
            try await store.keepMark(besideAuditLog: folder.file("audit.log"))
            let wallet = try await TestWallet(in: store)
            for _ in 0..<3 { _ = try await store.outcome(of: wallet.attempt(right: false)) }
            try change.make(folder.file(name))
            _ = try await store.outcome(of: wallet.attempt(right: true))
            exit(1)
        }
    }

    @Test("a file that takes the place of an open one during a commit is noticed before an answer")
    func exchangedInCommit() async {
        await #expect(processExitsWith: .exitCode(71)) {
            let folder = TemporaryFolder()
            let store = try SQLiteWalletStore.open(
                folder: folder.path,
                key: .test,
                creating: true,
                onFatal: { _ in exit(71) }
            )
            try await store.queue.perform { connection in
                try connection.setSolutionRevoked(true)
                try Change.replaced.make(folder.file("wallets.db"))
            }
            exit(1)
        }
    }

    @Test("the copy of the mark beside an audit log follows the commits, and is overwritten where it is")
    func copy() async throws {
        let log = self.folder.file("audit.log")
        #expect(try MarkCopy.generation(besideAuditLog: log) == nil)
        var store = try self.live.store()
        try await store.keepMark(besideAuditLog: log)
        #expect(try MarkCopy.generation(besideAuditLog: log) == store.generation)
        let wallet = try await TestWallet(in: store)
        #expect(try MarkCopy.generation(besideAuditLog: log) == store.generation)
        await store.close()
        let file = try FileState(of: MarkCopy.path(besideAuditLog: log))
        store = try self.live.store()
        try await store.keepMark(besideAuditLog: log)
        _ = try await TestWallet(in: store).attempt(right: false)
        _ = try await store.outcome(of: wallet.attempt(right: false))
        #expect(try MarkCopy.generation(besideAuditLog: log) == store.generation)
        #expect(try FileState(of: MarkCopy.path(besideAuditLog: log)).isOfSameFile(as: file))
        await store.close()
        // A restore creates only a missing or damaged one.
        try MarkCopy.create(besideAuditLog: log)
        #expect(try MarkCopy.generation(besideAuditLog: log) == store.generation)
        try DurableFile.write([1], to: MarkCopy.path(besideAuditLog: log))
        try MarkCopy.create(besideAuditLog: log)
        #expect(try MarkCopy.generation(besideAuditLog: log) == 0)
    }
}
