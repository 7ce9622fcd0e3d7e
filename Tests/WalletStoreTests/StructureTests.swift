import HostSystem
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
        _ = try await store.judge(wallet.attempt(right: true))
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
}
