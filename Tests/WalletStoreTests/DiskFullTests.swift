import Foundation
import HostSystem
import TestSupport
import Testing
import Vocabulary
import WalletStore

@Suite("A full disk", .serialized)
struct DiskFullTests {
    static let effects: [Attempt.Effect] = [
        .releaseShare, .readDeletionCode, .linkRecoveryCode(mac: [UInt8](repeating: 5, count: 32)),
        .replacePINKey(identity: [UInt8](repeating: 6, count: 300), newKeyID: .random()),
    ]

    @Test(
        "with any number of free pages, a right and a wrong PIN both get a verdict, or neither is counted",
        .enabled(if: SmallDisk.isPermitted, "mounting a small file system needs root"),
        arguments: effects
    )
    func sameAnswer(effect: Attempt.Effect) async throws {
        let base = TemporaryFolder()
        let store = try base.store()
        let wallet = try await TestWallet(in: store, deletionDigest: TestWallet.digest())
        // The next right PIN changes only the number of writes.
        _ = try await store.outcome(of: wallet.attempt(right: true))
        await store.close()
        var answered = 0
        for freePages in 0..<8 {
            let right = try await self.isAnswered(base, wallet, right: true, effect: effect, freePages: freePages)
            let wrong = try await self.isAnswered(base, wallet, right: false, effect: effect, freePages: freePages)
            #expect(right == wrong, "\(freePages) free pages tell a right PIN from a wrong one")
            answered += right ? 1 : 0
        }
        #expect(answered > 0)
        #expect(answered < 8, "the disk was never full")
    }

    /// Tries one PIN on a copy of the store with this many free pages, and again after freeing space.
    private func isAnswered(
        _ base: TemporaryFolder,
        _ wallet: TestWallet,
        right: Bool,
        effect: Attempt.Effect,
        freePages: Int
    ) async throws -> Bool {
        let disk = try SmallDisk()
        for name in ["/wallets.db", "/wallets.db-mark"] {
            try FileManager.default.copyItem(atPath: base.path + name, toPath: disk.path + name)
        }
        let store = try SQLiteWalletStore.open(folder: disk.path, key: .test)
        try disk.fill(leaving: freePages)
        var isAnswered = true
        do {
            _ = try await store.outcome(of: wallet.attempt(right: right, effect: effect))
        } catch StoreError.unavailable {
            isAnswered = false
        }
        try disk.clear()
        if !right {
            let left = isAnswered ? 2 : 3
            let verdict = PINVerdict.wrong(.open(attemptsLeft: left, finalRound: false))
            try await #expect(store.outcome(of: wallet.attempt(right: false)) == .notValid(verdict))
        }
        await store.close()
        return isAnswered
    }

    @Test(
        "a copy ends while the disk is full and every batch with a write is refused",
        .enabled(if: SmallDisk.isPermitted, "mounting a small file system needs root")
    )
    func endOfCopy() async throws {
        let (disk, copies) = (try SmallDisk(), TemporaryFolder())
        let store = try SQLiteWalletStore.open(folder: disk.path, key: .test, creating: true)
        let target = copies.file("copy")
        try DurableFile.makeEmpty(target)
        try await store.beginCopy(to: target)
        try disk.fill(leaving: 0)
        // Registrations until the log needs more space, many at once, so that some share a batch with the end.
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<40 { group.addTask { _ = try? await TestWallet(in: store) } }
            group.addTask { try? await store.endCopy() }
        }
        await #expect(throws: StoreError.unavailable) { _ = try await TestWallet(in: store) }
        // The file that the copy held open is closed, and another copy can begin.
        try await store.beginCopy(to: target)
        try await store.endCopy()
        await store.close()
    }

    @Test(
        "creating a store on a full disk fails with the reason",
        .enabled(if: SmallDisk.isPermitted, "mounting a small file system needs root")
    )
    func opening() throws {
        let disk = try SmallDisk()
        try disk.fill(leaving: 1)
        let error = #expect(throws: StoreOpenError.self) {
            try SQLiteWalletStore.open(folder: disk.path, key: .test, creating: true)
        }
        guard case .diskFull(let reason)? = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(reason.contains(disk.path), "\(reason)")
    }
}
