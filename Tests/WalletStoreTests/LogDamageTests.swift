import Foundation
import SQLiteClient
import HostSystem
import PINPolicy
import TestSupport
import Testing
import Vocabulary

@testable import WalletStore

/// Attacks on the files that a killed process leaves behind.
@Suite("A store that lacks commits")
struct LogDamageTests {
    private let live = TemporaryFolder()
    private let folder = TemporaryFolder()
    private var path: String { self.folder.file("wallets.db") }

    @Test("after a kill, one flipped bit anywhere in the log is found, as is a cut at any place")
    func flipsAndCuts() async throws {
        let image = try await self.image(commits: 9)
        try image.write(to: self.folder)
        #expect(self.damage == nil)
        for place in Array(0..<32) + image.frames.flatMap({ $0.classes }) {
            var damaged = image
            damaged.log[place] ^= 1 << (place % 8)
            try damaged.write(to: self.folder)
            #expect(self.damage != nil, "byte \(place)")
        }
        for place in [0, 5, 32] + image.frames.flatMap({ [$0.start, $0.start + 24, $0.end - 1] }) {
            var damaged = image
            damaged.log.removeLast(damaged.log.count - place)
            try damaged.write(to: self.folder)
            #expect(self.damage != nil, "cut at \(place)")
        }
    }

    @Test("after a power failure, whose mark is an old one, a damaged commit before the last ones is found by the log")
    func oldMark() async throws {
        var image = try await self.image(commits: 9)
        image.mark = image.firstMark
        try image.write(to: self.folder)
        #expect(self.damage == nil)
        let commits = image.frames.filter(\.commits)
        let last = try #require(commits.dropLast(2).last)
        for frame in image.frames where frame.start <= last.start {
            for place in frame.classes {
                var damaged = image
                damaged.log[place] ^= 1 << (place % 8)
                try damaged.write(to: self.folder)
                guard case .log? = self.damage else {
                    Issue.record("byte \(place) of the frame at \(frame.start): \(String(describing: self.damage))")
                    return
                }
            }
        }
    }

    @Test("after a power failure, a damaged header before the log's only transaction is found by the log")
    func headerOfOneTransaction() async throws {
        var image = try await self.image(commits: 9)
        let commits = image.frames.filter(\.commits)
        let only = try #require(commits.first)
        image.mark = image.firstMark
        image.log.removeLast(image.log.count - only.end)
        try image.write(to: self.folder)
        #expect(self.damage == nil)
        // The version, the page's size and the number of the checkpoint.
        for place in [5, 9, 13] {
            var damaged = image
            damaged.log[place] ^= 1
            try damaged.write(to: self.folder)
            guard case .log? = self.damage else {
                Issue.record("byte \(place): \(String(describing: self.damage))")
                continue
            }
        }
    }

    @Test("a last transaction that a power failure tore is no damage, and exactly its count is missing")
    func torn() async throws {
        let image = try await self.image(commits: 5)
        let previous = try #require(image.frames.filter(\.commits).dropLast().last)
        let torn = image.frames.filter { $0.start > previous.start }
        #expect(torn.count > 1)
        var logs: [[UInt8]] = [Array(image.log[..<previous.end])]
        for frame in torn {
            logs.append(Array(image.log[..<(frame.start + 100)]))
            for place in [frame.start + 9, frame.start + 17, frame.start + 500] {
                logs.append(image.log)
                logs[logs.count - 1][place] ^= 4
            }
        }
        for log in logs {
            var crashed = image
            (crashed.log, crashed.mark) = (log, image.firstMark)
            try crashed.write(to: self.folder)
            let store = try self.folder.store()
            #expect(try await store.listing(after: nil, limit: 1).first?.attempts?.failures == 2)
            await store.close()
        }
    }

    @Test("a removed log is found, as is an emptied one and an older copy of the store, also after an orderly stop")
    func removed() async throws {
        let image = try await self.image(commits: 3)
        try image.write(to: self.folder)
        try DurableFile.remove(self.path + "-wal")
        #expect(self.damage == .logMissing)
        try DurableFile.write([], to: self.path + "-wal")
        guard case .behind? = self.damage else {
            Issue.record("an emptied log is accepted")
            return
        }
        // Stopped in order, the later store leaves its mark; then the older file is put back.
        try image.write(to: self.folder)
        await (try self.folder.store()).close()
        #expect(!DurableFile.exists(self.path + "-wal") && self.damage == nil)
        try DurableFile.write(image.store, to: self.path)
        guard case .behind? = self.damage else {
            Issue.record("an older copy is accepted")
            return
        }
    }

    @Test("a log without a sound mark is rejected")
    func markGone() async throws {
        let image = try await self.image(commits: 3)
        for place in 0..<image.mark.count {
            var damaged = image
            damaged.mark[place] ^= 1 << (place % 8)
            try damaged.write(to: self.folder)
            #expect(self.damage == .markMissing, "byte \(place)")
        }
        try image.write(to: self.folder)
        try DurableFile.remove(self.path + "-mark")
        #expect(self.damage == .markMissing)
        // The header, which the mark does not cover, names another version.
        var other = image
        other.store[63] = 0
        try other.write(to: self.folder)
        try DurableFile.remove(self.path + "-mark")
        #expect(self.damage == .markMissing && !DurableFile.exists(self.path + "-mark"))
    }

    @Test("a start that fails after the log was copied into the store does not make the log look removed")
    func failedStart() async throws {
        let store = try self.live.store()
        _ = try await TestWallet(in: store)
        try await store.queue.perform { try $0.db.execute("DELETE FROM solution") }
        let image = try Image(of: self.live, firstMark: [])
        await store.close()
        try image.write(to: self.folder)
        for _ in 0..<2 { #expect(throws: StoreOpenError.notAStore) { try self.folder.store() } }
    }

    @Test("a damaged store is changed only by an opening that accepts the damage, and rejected again afterwards")
    func accepted() async throws {
        var image = try await self.image(commits: 9)
        image.log[image.frames[2].start + 60] ^= 1
        try image.write(to: self.folder)
        let before = try self.folder.contents()
        let error = #expect(throws: StoreOpenError.self) { try self.folder.store() }
        guard case .damaged? = error else {
            Issue.record("another reason")
            return
        }
        #expect(try self.folder.contents() == before)
        let store = try SQLiteWalletStore.open(folder: self.folder.path, key: .test, acceptingDamage: true)
        #expect(try await store.walletCount() <= 1)
        await store.close()
        #expect(self.damage != nil)
    }

    @Test("a copy of a damaged store with an earlier mark does not hide the damage; one of a sound store does no harm")
    func copied() async throws {
        for isDamaged in [true, false] {
            var image = try await self.image(commits: 9)
            var earlier = try #require(StoreMark.Content(decoding: image.firstMark))
            earlier.isInUse = false
            image.mark = earlier.encoded()
            if isDamaged { image.log[image.frames[2].start + 60] ^= 1 }
            try image.write(to: self.folder)
            for _ in 0..<2 {
                let store = try SQLiteWalletStore.open(folder: self.folder.path, key: .test, acceptingDamage: true)
                await store.close()
                #expect((self.damage != nil) == isDamaged)
            }
        }
    }

    @Test("frames of an earlier use of the log, which follow the present ones, are no damage")
    func restarted() async throws {
        let image = try await self.image(commits: 520)
        let present = image.log[16..<24]
        let count = image.frames.prefix { image.log[($0.start + 8)..<($0.start + 16)] == present }.count
        #expect(count > 0 && count < image.frames.count, "the log was not used again")
        try image.write(to: self.folder)
        #expect(self.damage == nil)
        var damaged = image
        damaged.log[image.frames[count].start + 70] ^= 1
        try damaged.write(to: self.folder)
        #expect(self.damage == nil)
    }

    @Test("a header without a page size that SQLite uses is reported, with a log and without one")
    func pageSize() async throws {
        let image = try await self.image(commits: 2)
        for (offset, value) in [(17, 1), (17, 0xFF), (16, 0), (16, 0x11), (16, 0x80 | 0x10)] as [(Int, UInt8)] {
            var damaged = image
            damaged.store[offset] = value
            try damaged.write(to: self.folder)
            #expect(throws: StoreOpenError.notAStore) { try StoreCheck.look(self.path) }
            try DurableFile.remove(self.path + "-wal")
            #expect(throws: StoreOpenError.notAStore) { try StoreCheck.look(self.path) }
        }
    }

    @Test("the number of the last commit is read from its page without SQLite, whatever its length")
    func generation() throws {
        for number: Int64 in [0, 1, 2, 127, 128, 32_767, 32_768, 8_388_608, 1 << 31, 1 << 40, 1 << 47, Int64.max] {
            let file = self.folder.file("\(number).db")
            let db = try SQLiteDatabase(file)
            try Schema.current.migrate(db, creating: true)
            try db.run("UPDATE generation SET value = ?", [.number(number)])
            let page = Int(try StoreConnection(db, key: .test).generationPage())
            db.close()
            let bytes = try DurableFile.read(file, atMost: 1 << 24)
            let read = StoreCheck.generation(in: Array(bytes[((page - 1) * 4096)..<(page * 4096)]))
            #expect(read == UInt64(number))
        }
    }

    private var damage: StoreDamage? {
        do throws(StoreOpenError) {
            try StoreCheck.run(self.path)
            return nil
        } catch {
            guard case .damaged(let damage) = error else {
                Issue.record("\(error)")
                return nil
            }
            return damage
        }
    }

    /// The files of a process that was killed after one wallet made this many attempts, the last three of them wrong.
    private func image(commits: Int) async throws -> Image {
        let store = try self.live.store()
        let first = try DurableFile.read(self.live.file("wallets.db-mark"), atMost: 100)
        let wallet = try await TestWallet(in: store)
        for number in 1...commits { _ = try await store.outcome(of: wallet.attempt(right: number <= commits - 3)) }
        let image = try Image(of: self.live, firstMark: first)
        await store.close()
        return image
    }
}

/// The files of a store, as a killed process leaves them.
private struct Image {
    /// A frame of the log: a header of 24 bytes and a page of 4096.
    struct Frame {
        let start: Int
        let commits: Bool
        var end: Int { self.start + 4120 }
        /// One byte of each field and of the page's beginning, middle and end.
        var classes: [Int] { [0, 3, 4, 7, 8, 15, 16, 23, 24, 25, 2000, 4119].map { self.start + $0 } }
    }

    var store, log, mark: [UInt8]
    /// The mark when the process had opened the store.
    let firstMark: [UInt8]

    init(of folder: TemporaryFolder, firstMark: [UInt8]) throws {
        func read(_ name: String) throws -> [UInt8] { try DurableFile.read(folder.file(name), atMost: 1 << 24) }
        (self.store, self.log) = (try read("wallets.db"), try read("wallets.db-wal"))
        (self.mark, self.firstMark) = (try read("wallets.db-mark"), firstMark)
    }

    var frames: [Frame] {
        stride(from: 32, to: self.log.count - 4119, by: 4120).map { start in
            Frame(start: start, commits: self.log[(start + 4)..<(start + 8)].contains { $0 != 0 })
        }
    }

    func write(to folder: TemporaryFolder) throws {
        for (name, bytes) in [("", self.store), ("-wal", self.log), ("-mark", self.mark)] {
            try Data(bytes).write(to: URL(filePath: folder.file("wallets.db\(name)")))
        }
    }
}
