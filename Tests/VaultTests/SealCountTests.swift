import Foundation
import Secrets
import HostSystem
import Synchronization
import Testing
@testable import Vault
import Vocabulary

@Suite("The number of values that one key seals")
struct SealCountTests {
    let file: KeyFileFixture
    let countPath: String

    init() throws {
        self.file = try KeyFileFixture()
        self.countPath = self.file.path + ".count"
    }

    private func count(limit: UInt64 = 10, block: UInt64 = 4) -> SealCount {
        SealCount(path: self.countPath, limit: limit, blockSize: block)
    }

    @Test(
        "a key never seals more than the limit, over any number of restarts",
        arguments: [1, 2, 3, 4, 7, 10] as [UInt64]
    )
    func limit(block: UInt64) async {
        var taken = 0
        for _ in 0..<20 {
            let count = self.count(block: block)
            for _ in 0..<3 where await count.take(1) { taken += 1 }
        }
        #expect(taken <= 10)
        let last = await self.count(block: block).take(1)
        #expect(!last)
    }

    @Test("without restarts the limit is used up exactly, separately for each version")
    func exact() async {
        let count = self.count()
        for version in [UInt32(1), 2] {
            var taken = 0
            for _ in 0..<30 where await count.take(version) { taken += 1 }
            #expect(taken == 10)
        }
    }

    @Test("a crash after a reservation loses numbers and repeats none")
    func crash() async throws {
        #expect(await self.count().take(1))
        let text = String(decoding: try DurableFile.read(self.countPath, atMost: 1000), as: UTF8.self)
        #expect(text.contains("key 1 sealed 4"))
    }

    @Test("vaults that share a file never take more than the limit together")
    func shared() async {
        let counts = (0..<4).map { _ in self.count(limit: 50, block: 3) }
        let taken = await withTaskGroup { group in
            for worker in 0..<8 {
                group.addTask {
                    var taken = 0
                    for _ in 0..<50 where await counts[worker % 4].take(1) { taken += 1 }
                    return taken
                }
            }
            return await group.reduce(0, +)
        }
        #expect(taken == 50)
    }

    @Test("tasks that wait for the file to seal hold no thread")
    func suspends() async throws {
        let count = self.count(limit: 100, block: 3)
        let lock = Held(try FileLock(waitingFor: self.countPath + ".lock"))
        let isFree = DispatchSemaphore(value: 0)
        // Outside all threads of the tasks, so that the lock is released even if they are all blocked.
        Thread.detachNewThread { lock.release(wasFree: isFree.wait(timeout: .now() + .seconds(30)) == .success) }
        // More tasks than threads for them.
        let taken = await withTaskGroup { group in
            for _ in 0..<64 { group.addTask { await count.take(1) } }
            group.addTask {
                isFree.signal()
                return true
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(taken == 65)
        #expect(lock.wasFree, "at least one thread stayed free")
    }

    @Test("a damaged count stops sealing rather than restarting from zero")
    func damaged() async throws {
        try DurableFile.write(Array("nonsense".utf8), to: self.countPath)
        #expect(await !self.count().take(1))
    }

    @Test("a key at its limit refuses to seal and still opens; a rotation resolves it")
    func exhausted() async throws {
        let vault = try KeyFileVault(self.file.path, count: self.count(limit: 2, block: 2))
        let wallet = WalletID.random()
        let sealed = try await vault.seal(SecretBytes(copying: [1]), as: .unlockShare, of: wallet)
        _ = try await vault.seal(SecretBytes(copying: [1]), as: .unlockShare, of: wallet)
        await #expect(throws: VaultError.unreachable) {
            try await vault.seal(SecretBytes(copying: [1]), as: .unlockShare, of: wallet)
        }
        let opened = try await vault.unseal(sealed, as: .unlockShare, of: wallet).exposedBytes()
        #expect(opened == [1])
        _ = try KeyFileVault(self.file.path).addVersion(activating: true)
        try vault.reload()
        _ = try await vault.seal(SecretBytes(copying: [1]), as: .unlockShare, of: wallet)
    }

    @Test("identities are sealed without limit: repeated PIN changes use up no other user's numbers")
    func identities() async throws {
        let vault = try KeyFileVault(self.file.path, count: self.count(limit: 0))
        let wallet = WalletID.random()
        await #expect(throws: VaultError.unreachable) {
            try await vault.seal(SecretBytes(copying: [1]), as: .unlockShare, of: wallet)
        }
        let sealed = try await vault.seal(SecretBytes(copying: [1]), as: .identity, of: wallet)
        let opened = try await vault.unseal(sealed, as: .identity, of: wallet).exposedBytes()
        #expect(opened == [1])
        #expect(!DurableFile.exists(self.countPath))
    }

    @Test("a process that restarts repeatedly loses few numbers, and one that seals much seldom waits for the file")
    func growing() async throws {
        func used() throws -> UInt64? {
            let text = String(decoding: try DurableFile.read(self.countPath, atMost: 1000), as: UTF8.self)
            return text.split(whereSeparator: \.isWhitespace).last.flatMap { UInt64($0) }
        }
        for _ in 0..<10 { #expect(await SealCount(path: self.countPath).take(1)) }
        let before = 10 * SealCount.firstBlockSize
        #expect(try used() == before)
        let count = SealCount(path: self.countPath)
        for _ in 0...(3 * SealCount.firstBlockSize) { #expect(await count.take(1)) }
        #expect(try used() == before + 7 * SealCount.firstBlockSize)
    }

    @Test("sixteen times the limit of one file is at most 2^32")
    func bound() {
        #expect(SealCount.limit * 16 <= 1 << 32)
    }
}

/// A lock, held until its release.
private final class Held: Sendable {
    private let state: Mutex<(lock: FileLock?, wasFree: Bool)>

    init(_ lock: FileLock) {
        self.state = Mutex((lock, false))
    }

    var wasFree: Bool { self.state.withLock { $0.wasFree } }

    func release(wasFree: Bool) { self.state.withLock { $0 = (nil, wasFree) } }
}
