import Foundation
import Testing
import Vocabulary

@testable import WalletCore

@Suite("The file of the wallet's state")
struct StateFileTests {
    private let phone = FakePhone()

    private func text() throws -> String {
        String(decoding: try #require(self.phone.disk.contents[.state]), as: UTF8.self)
    }

    /// A disk with other contents of `state.json` beside the wallet's other files.
    private func disk(_ state: [UInt8]?) -> TestDisk {
        var files = self.phone.disk.contents
        files[.state] = state
        return TestDisk(crashPoint: CrashPoint(), files: files)
    }

    @Test(
        "a flipped bit anywhere is reported, and never looks like another state",
        arguments: [BiometricMode.off, .safe]
    )
    func everyBit(mode: BiometricMode) async throws {
        _ = try await EngineUnderTest.setUp(self.phone, mode)
        let bytes = try #require(self.phone.disk.contents[.state])
        let state = try LocalStore(self.phone.disk).state
        for index in bytes.indices {
            for bit in Set([0, index % 8]) {
                var damaged = bytes
                damaged[index] ^= 1 << UInt8(bit)
                let disk = self.disk(damaged)
                do {
                    let read = try LocalStore(disk)
                    #expect(read.state == state, "bit \(bit) of byte \(index) changes the state")
                } catch StorageError.notAsWritten(.state) {
                    #expect(disk.contents[.state] == damaged, "a damaged file is not changed")
                } catch StorageError.otherVersion(.state, let version) {
                    #expect(version != LocalState.currentVersion)
                }
            }
        }
    }

    @Test(
        "an added, a renamed and a removed key are reported",
        arguments: ["biometrics", "registration", "hadSession"]
    )
    func keys(_ key: String) async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .safe)
        let text = try self.text()
        try #require(text.contains("\"\(key)\""))
        for other in [
            text.replacing("\"\(key)\"", with: "\"\(key)s\""), "{\"added\": 1,\(text.dropFirst())",
            text.replacing("\"checksum\"", with: "\"checksun\""),
        ] {
            #expect(throws: StorageError.notAsWritten(.state)) { try LocalStore(self.disk(Array(other.utf8))) }
        }
        let unknown = try Self.withItsChecksum("{\"added\": 1,\(text.dropFirst())")
        #expect(throws: StorageError.notAsWritten(.state)) { try LocalStore(self.disk(Array(unknown.utf8))) }
        #expect(try Self.withItsChecksum(text) == text)
    }

    /// Replaces the checksum with that of all other values.
    private static func withItsChecksum(_ text: String) throws -> String {
        let tree = try JSONDecoder().decode(StoredTree.self, from: Data(text.utf8))
        guard case .object(var fields) = tree, case .text(let old)? = fields.removeValue(forKey: "checksum") else {
            preconditionFailure("a state file has a checksum")
        }
        let new = LocalStore.encode(StoredTree.object(fields).digest)
        return text.replacing("\"\(old)\"", with: String(decoding: new, as: UTF8.self))
    }

    @Test("a file of an earlier or a later format, or without a checksum, is not read, and not changed")
    func otherForm() async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .fallback)
        let text = try self.text()
        let bare = text.split(separator: "\n").filter { !$0.contains("\"checksum\"") }.joined()
        for version in [1, 2, 4] {
            for file in [text, bare] {
                let disk = self.disk(Array(file.replacing("\"version\" : 3", with: "\"version\" : \(version)").utf8))
                let before = disk.contents
                #expect(throws: StorageError.otherVersion(.state, version: version)) { try LocalStore(disk) }
                #expect(disk.contents == before)
            }
        }
        #expect(throws: StorageError.notAsWritten(.state)) { try LocalStore(self.disk(Array(bare.utf8))) }
        #expect("\(StorageError.otherVersion(.state, version: 2))".contains("delete the wallet to start again"))
    }

    @Test("a missing state beside access data is not mistaken for a wallet that was never set up")
    func missing() async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .off)
        #expect(throws: StorageError.missing(.state)) { try LocalStore(self.disk(nil)) }
        let empty = TestDisk(crashPoint: CrashPoint())
        #expect(try LocalStore(empty).state == LocalState())
    }

    @Test("a wallet with damaged files can be deleted, and set up again", arguments: [true, false])
    func reset(isEmpty: Bool) async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .safe)
        if isEmpty { try self.phone.disk.write([], to: .state) } else { try self.phone.disk.remove(.state) }
        #expect(throws: WalletError.self) { try self.phone.wallet() }
        try await Wallet.reset(disk: self.phone.disk, device: self.phone.device)
        #expect(self.phone.disk.contents.isEmpty)
        #expect(self.phone.items.isEmpty)
        #expect(!self.phone.device.hasKey)
        self.phone.keychain.withState { $0.biometrics = .none }
        _ = try await self.phone.choose(FakePhone.newPIN, in: try self.phone.wallet())
        #expect(try await self.phone.unlocks(with: FakePhone.newPIN))
    }
}
