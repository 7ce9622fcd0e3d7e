import Foundation
import Secrets
import HostSystem
import Testing
@testable import Vault
import Vocabulary

@Suite("How much one key seals")
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

    @Test("never more than the limit, over any number of restarts", arguments: [1, 2, 3, 4, 7, 10] as [UInt64])
    func limit(block: UInt64) {
        var taken = 0
        for _ in 0..<20 {
            let count = self.count(block: block)
            for _ in 0..<3 where count.take(1) { taken += 1 }
        }
        #expect(taken <= 10)
        let last = self.count(block: block).take(1)
        #expect(!last)
    }

    @Test("without restarts the limit is used up exactly, for each version apart")
    func exact() {
        let count = self.count()
        for version in [UInt32(1), 2] {
            let taken = (0..<30).count { _ in count.take(version) }
            #expect(taken == 10)
        }
    }

    @Test("a crash after taking loses numbers and repeats none")
    func crash() throws {
        #expect(self.count().take(1))
        let text = String(decoding: try DurableFile.read(self.countPath, atMost: 1000), as: UTF8.self)
        #expect(text.contains("key 1 sealed 4"))
    }

    @Test("vaults that share the file never take more than the limit together")
    func shared() {
        let counts = (0..<4).map { _ in self.count(limit: 50, block: 3) }
        let taken = Total()
        DispatchQueue.concurrentPerform(iterations: 8) { worker in
            for _ in 0..<50 where counts[worker % 4].take(1) { taken.increment() }
        }
        #expect(taken.value == 50)
    }

    @Test("a damaged count stops sealing rather than starting anew")
    func damaged() throws {
        try DurableFile.write(Array("nonsense".utf8), to: self.countPath)
        #expect(!self.count().take(1))
    }

    @Test("a key that has sealed its last value refuses, still opens, and a rotation helps")
    func exhausted() async throws {
        let vault = try KeyFileVault(self.file.path, count: self.count(limit: 2, block: 2))
        let wallet = WalletID.random()
        let sealed = try await vault.seal(SecretBytes(copying: [1]), as: .identity, of: wallet)
        _ = try await vault.seal(SecretBytes(copying: [1]), as: .identity, of: wallet)
        await #expect(throws: VaultError.unreachable) {
            try await vault.seal(SecretBytes(copying: [1]), as: .identity, of: wallet)
        }
        let opened = try await vault.unseal(sealed, as: .identity, of: wallet).exposedBytes()
        #expect(opened == [1])
        try KeyFileVault.addVersion(to: self.file.path)
        try vault.reload()
        _ = try await vault.seal(SecretBytes(copying: [1]), as: .identity, of: wallet)
    }

    @Test("the limit of one file, sixteen times, is no more than 2^32")
    func bound() {
        #expect(SealCount.limit * 16 <= 1 << 32)
    }
}

private final class Total: @unchecked Sendable {
    private let lock = NSLock()
    private var count = 0

    func increment() { self.lock.withLock { self.count += 1 } }
    var value: Int { self.lock.withLock { self.count } }
}
