import Foundation
import HostSystem
import TestSupport
import Vocabulary

@testable import Vault

/// A key file in a separate folder, removed with the value.
final class KeyFileFixture: Sendable {
    let folder: String
    let path: String

    init() throws {
        self.folder = FileManager.default.temporaryDirectory.appending(path: "vault-tests-\(UUID().uuidString)").path()
        self.path = "\(self.folder)/vault-key"
        try DurableFile.makeFolder(self.folder)
        try KeyFileVault.create(at: self.path)
    }

    deinit { try? FileManager.default.removeItem(atPath: self.folder) }

    func text() throws -> String {
        String(decoding: try DurableFile.read(self.path, atMost: 65_536), as: UTF8.self)
    }

    func replace(_ text: String, mode: UInt32 = 0o600) throws {
        try DurableFile.write(Array(text.utf8), to: self.path, mode: mode)
    }
}

/// The place of the roots in a test.
enum RootPlace: CaseIterable {
    case file
    case module
}

/// A vault with its key file, and the module that has the roots, also those of the next versions.
final class VaultFixture: Sendable {
    let file: KeyFileFixture
    let daemon: FakeModule
    let module: ModuleKeys?
    let vault: KeyFileVault

    init(_ place: RootPlace, timeLimit: Duration = .seconds(5)) async throws {
        self.file = try KeyFileFixture()
        self.daemon = try FakeModule(
            at: "\(self.file.folder)/socket",
            rootsOf: self.file.path,
            moving: place == .module
        )
        try await self.daemon.start()
        self.module = place == .module ? ModuleKeys(socket: self.daemon.path, timeLimit: timeLimit) : nil
        self.vault = try await KeyFileVault(self.file.path, module: self.module)
        // The open connection is checked before this use, and not during a fault of the test.
        _ = try await self.vault.keys(of: .random(), opening: [])
    }

    /// The vault of another process with the same file.
    func again() async throws -> KeyFileVault { try await KeyFileVault(self.file.path, module: self.module) }
}
