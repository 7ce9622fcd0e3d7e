import Foundation
import LabFiles
import TestSupport
import Testing

/// A lab in a folder of its own, with the real programs; both go with the test.
final class LabUnderTest: Sendable {
    /// The test's folder, with room for more than the lab.
    let folder: String
    let lab: LabFolder

    /// One round of sixteen attempts: what is left of them says how many were counted.
    static let sixteenAttempts = [
        "REMOTE_PIN_PIN_ROUNDS": "1", "REMOTE_PIN_PIN_ATTEMPTS_PER_ROUND": "\(Guesser.allowance)",
        "REMOTE_PIN_PIN_BLOCKS": "[]", "REMOTE_PIN_LOG_FILE": "none", "REMOTE_PIN_LOG_LEVEL": "notice",
    ]

    /// Makes the lab with the program.
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

    /// How tests that speak the protocol themselves reach it, once it was served.
    var server: TestServer {
        get throws { try TestServer(lab: self.lab.path) }
    }

    /// A wallet of keys alone.
    func register(pin: String) async throws -> TestWallet {
        try await TestWallet.register(at: try self.server, folder: "\(self.folder)/devices", pin: pin)
    }
}
