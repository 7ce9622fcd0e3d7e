import Testing

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
                } catch StorageError.newerVersion(.state, let version) {
                    #expect(version > LocalState.currentVersion)
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
    }

    @Test("a file of an earlier version without a checksum is read once, and replaced", arguments: [1, 2])
    func earlierVersion(_ version: Int) async throws {
        _ = try await EngineUnderTest.setUp(self.phone, version == 1 ? .off : .fallback)
        let state = try LocalStore(self.phone.disk).state
        let lines = try self.text().split(separator: "\n").filter { !$0.contains("\"checksum\"") }
        let old = lines.joined(separator: "\n").replacing("\"version\" : 3", with: "\"version\" : \(version)")
        let disk = self.disk(Array(old.utf8))
        #expect(try LocalStore(disk).state == state)
        #expect(disk.contents[.state] == self.phone.disk.contents[.state])
        // The same file with an unknown key is not.
        let renamed = old.replacing("\"registration\"", with: "\"Registration\"")
        #expect(throws: StorageError.notAsWritten(.state)) { try LocalStore(self.disk(Array(renamed.utf8))) }
    }

    @Test("an earlier version with a checksum, and a later one without, are damaged")
    func versionAndChecksum() async throws {
        _ = try await EngineUnderTest.setUp(self.phone, .off)
        let older = try self.text().replacing("\"version\" : 3", with: "\"version\" : 1")
        let bare = try self.text().split(separator: "\n").filter { !$0.contains("\"checksum\"") }.joined()
        for text in [older, bare] {
            #expect(throws: StorageError.notAsWritten(.state)) { try LocalStore(self.disk(Array(text.utf8))) }
        }
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
