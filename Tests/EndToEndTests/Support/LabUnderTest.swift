import Foundation
import LabFiles
import TestSupport
import Testing

/// A lab in a separate folder, with the real programs; both are removed with the test.
final class LabUnderTest: Sendable {
    /// The test's folder, also for files outside the lab.
    let folder: String
    let lab: LabFolder

    /// One round of sixteen attempts, so that the remaining ones show how many were counted.
    static let sixteenAttempts = [
        "REMOTE_PIN_PIN_ROUNDS": "1", "REMOTE_PIN_PIN_ATTEMPTS_PER_ROUND": "\(GuessingWallet.allowance)",
        "REMOTE_PIN_PIN_BLOCKS": "[]", "REMOTE_PIN_LOG_FILE": "none", "REMOTE_PIN_LOG_LEVEL": "notice",
    ]

    /// Creates the lab with the program.
    init() async throws {
        let name = "remote-pin-e2e-\(UUID().uuidString.prefix(8))"
        self.folder = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
        try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
        self.lab = LabFolder("\(self.folder)/lab")
        let made = try await ServerProcess.run("remote-pin-server", ["init", "--lab", self.lab.path])
        try #require(made.exitCode == 0, "\(made.output)")
    }

    deinit {
        try? FileManager.default.removeItem(atPath: self.folder)
    }

    /// Serves the lab.
    func start(_ environment: [String: String] = LabUnderTest.sixteenAttempts) async throws -> ServerProcess {
        try await ServerProcess.start(["lab", "up", self.lab.path], environment: environment)
    }

    /// The address for tests that use the protocol directly, once the lab was served.
    var server: TestServer {
        get throws { try TestServer(lab: self.lab.path) }
    }

    /// Registers a wallet that consists of keys only.
    func register(pin: String) async throws -> TestWallet {
        try await TestWallet.register(at: try self.server, folder: "\(self.folder)/devices", pin: pin)
    }
}
