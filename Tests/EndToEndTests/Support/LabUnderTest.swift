import Foundation
import Glibc
import LabFiles
import Synchronization
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
        try self.use(port: TestPort.next())
    }

    /// Makes the next server listen on a port, or on a new one of its choice if it is 0.
    func use(port: Int) throws {
        var file = try LabFile(of: self.lab)
        file.port = port
        try file.write(to: self.lab)
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

/// The ports of the labs of this test process, each given out once.
///
/// A lab that no server serves at the moment, in a test of a restart, would lose a port that another lab may choose
/// for itself. New labs choose from 20,000 on.
enum TestPort {
    private static let ports = 10_000..<20_000
    private static let count = Atomic(Int.random(in: TestPort.ports))

    /// Returns a port that no program uses now.
    static func next() -> Int {
        while true {
            let (count, _) = self.count.add(1, ordering: .relaxed)
            let port = self.ports.lowerBound + count % self.ports.count
            if Self.isFree(port) { return port }
        }
    }

    private static func isFree(_ port: Int) -> Bool {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        return unsafe withUnsafePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe bind(socket, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
