import Foundation
@testable import SQLiteClient
import HostSystem
import PINPolicy
import TestSupport
import Testing
import Vocabulary

@testable import WalletStore

@Suite("Copies of a store in use")
struct CopyTests {
    private let folder: TemporaryFolder
    private let store: SQLiteWalletStore
    private let copies = TemporaryFolder()

    init() throws {
        self.folder = TemporaryFolder()
        self.store = try self.folder.store()
    }

    private func target() throws -> String {
        let path = self.copies.file("copy-\(UInt64.random(in: .min ... .max))")
        try DurableFile.makeEmpty(path)
        return path
    }

    @Test("a copy contains writes made during the copy, and no byte of a share destroyed meanwhile")
    func writesMeanwhile() async throws {
        let shares = (0..<40).map { _ in TestWallet.bytes(80) }
        var wallets: [TestWallet] = []
        for share in shares { wallets.append(try await TestWallet(in: self.store, unlockShare: share)) }
        let path = try self.target()
        try await self.store.beginCopy(to: path)
        var steps = 0
        while true {
            if wallets.count > steps {
                _ = try await self.store.outcome(of: wallets[steps].attempt(right: false))
                _ = try await self.store.revoke(wallets: [wallets[39 - steps].id], at: TestWallet.start)
            }
            steps += 1
            if try await self.store.stepCopy(pages: 1).isWhole { break }
        }
        try await self.store.endCopy()
        #expect(steps > 10)
        let bytes = Data(try DurableFile.read(path, atMost: 1 << 26))
        let done = min(steps, 40)
        for index in (40 - done)..<40 { #expect(bytes.range(of: Data(shares[index])) == nil) }
        let staged = TemporaryFolder()
        try Data(bytes).write(to: URL(fileURLWithPath: staged.file("wallets.db")))
        try StoreMark.create(of: staged.file("wallets.db"))
        let copy = try SQLiteWalletStore.open(folder: staged.path, key: .test)
        for index in 0..<min(steps, 20) {
            #expect(try await copy.report(of: wallets[index].id)?.attempts?.failures == 1)
        }
        #expect(try await copy.inspect() == self.store.inspect())
        await copy.close()
    }

    @Test("PINs are judged during a copy, and only one copy runs at a time")
    func busy() async throws {
        let wallet = try await TestWallet(in: self.store)
        try await self.store.beginCopy(to: self.target())
        let other = try self.target()
        await #expect(throws: StoreCopyError.busy) { try await self.store.beginCopy(to: other) }
        #expect(try await self.store.outcome(of: wallet.attempt(right: true)) != .pinKeyChanged(current: wallet.keyID))
        // Closing abandons an unfinished copy.
        await self.store.close()
        await #expect(throws: StoreCopyError.closing) { _ = try await self.store.stepCopy(pages: 1) }
        await (try self.folder.store()).close()
    }

    @Test("a full disk under the copy makes the copy fail, and no wallet", .enabled(if: SmallDisk.isPermitted))
    func diskFull() async throws {
        var wallets: [TestWallet] = []
        for _ in 0..<200 { wallets.append(try await TestWallet(in: self.store)) }
        let disk = try SmallDisk()
        try DurableFile.makeEmpty("\(disk.path)/copy")
        try disk.fill(leaving: 8)
        try await self.store.beginCopy(to: "\(disk.path)/copy")
        var failure: StoreCopyError?
        do throws(StoreCopyError) {
            while try await !self.store.stepCopy(pages: 16).isWhole {
                _ = try? await self.store.outcome(of: wallets[3].attempt(right: true))
            }
            try await self.store.endCopy()
        } catch {
            failure = error
        }
        #expect(failure == .diskFull)
        try? await self.store.endCopy()
        for wallet in wallets { _ = try await self.store.outcome(of: wallet.attempt(right: false)) }
        try await self.store.beginCopy(to: self.target())
    }

    @Test("a store that cannot be read and a copy that cannot be written give different errors")
    func failures() throws {
        let database = try SQLiteDatabase()
        // The codes of `sqlite3.h`: read, short read, damaged page; write, truncate, no such file.
        for code: Int32 in [266, 522, 11, 267] {
            #expect(StoreCopyError(database.failure(code)) == .unreadable(SQLiteFailure.name(of: code)))
        }
        for code: Int32 in [778, 1546, 14, 10] {
            #expect(StoreCopyError(database.failure(code)) == .failed(SQLiteFailure.name(of: code)))
        }
        #expect(StoreCopyError(database.failure(13)) == .diskFull)
    }

    @Test("a copy is rejected in the store's own folder, whatever path leads there")
    func ownFolder() async throws {
        let link = self.copies.file("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: self.folder.path)
        for folder in [self.folder.path, link, self.folder.path + "/."] {
            await #expect(throws: StoreCopyError.inStoreFolder) {
                try await self.store.beginCopy(to: folder + "/wallets.db-journal")
            }
        }
    }

    @Test("staging rejects a folder with any part of a store, and removes the remains of a killed one")
    func staging() async throws {
        #expect(throws: StoreOpenError.inUse(pid: ProcessInfo.processInfo.processIdentifier)) {
            try StagedStore(folder: self.folder.path)
        }
        for part in ["wallets.db", "wallets.db-wal", "wallets.db-journal"] {
            let other = TemporaryFolder()
            _ = try other.write("", to: part)
            #expect(throws: StoreOpenError.files("\(other.file(part)): exists already")) {
                try StagedStore(folder: other.path)
            }
        }
        let killed = TemporaryFolder()
        let first = try StagedStore(folder: killed.path)
        _ = try killed.write("half", to: "restoring/wallets.db")
        first.abandon()
        let second = try StagedStore(folder: killed.path)
        #expect(try DurableFile.read(second.file, atMost: 10) == [])
        second.abandon()
    }
}
