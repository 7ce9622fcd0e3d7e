import Foundation
import Glibc
import LabFiles
import TestSupport
import Testing

/// A production server in a separate folder, with a lab's certificate; it is removed after the test.
///
/// A production server rejects root, so tests that run as root run it as another user.
final class ProductionUnderTest: Sendable {
    let folder: String
    let lab: LabUnderTest
    private let asOwner: [String]
    /// Any user without files on this machine.
    private static let user: uid_t = 65_534

    var dataFolder: String { "\(self.folder)/data" }
    var auditFile: String { "\(self.folder)/audit.log" }

    init() async throws {
        self.lab = try await LabUnderTest()
        self.folder = "\(self.lab.folder)/production"
        self.asOwner =
            geteuid() == 0
            ? ["setpriv", "--reuid=\(Self.user)", "--regid=\(Self.user)", "--clear-groups"] : []
        let made = try await ServerProcess.run("remote-pin-server", ["init", self.folder])
        try #require(made.exitCode == 0, "\(made.output)")
        let files = FileManager.default
        for (from, to) in [(self.lab.lab.certificateFile, "tls.pem"), (self.lab.lab.certificateKeyFile, "tls.key")] {
            try files.copyItem(atPath: from, toPath: "\(self.folder)/\(to)")
        }
        try self.giveToOwner()
    }

    /// Gives every file to the user who runs the server.
    func giveToOwner() throws {
        guard geteuid() == 0 else { return }
        let inside = FileManager.default.enumerator(atPath: self.folder)?.compactMap { $0 as? String } ?? []
        for path in [self.folder] + inside.map({ "\(self.folder)/\($0)" }) {
            #expect(unsafe chown(path, Self.user, Self.user) == 0)
        }
    }

    /// The command line of a command, as the owner, for env(1).
    func command(_ name: String, _ more: [String]) -> [String] {
        self.asOwner + [Programs.path("remote-pin-server")] + name.split(separator: " ").map(String.init)
            + [
                self.folder,
                "--tls.certificate", "\(self.folder)/tls.pem", "--tls.key", "\(self.folder)/tls.key", "--ios.apps",
                "ABCDE12345.org.example.wallet", "--listen.address", "127.0.0.1:0", "--observation.listen", "none",
            ] + more
    }

    /// Runs a command to its end: `serve` if it is expected not to start, `check-config`, or `store init`.
    func run(_ name: String, _ more: String...) async throws -> ProgramRun {
        try await self.run(name, more)
    }

    func run(_ name: String, _ more: [String]) async throws -> ProgramRun {
        try await ServerProcess.run("/usr/bin/env", self.command(name, more))
    }

    /// Starts the server.
    func start(_ more: String...) async throws -> ServerProcess {
        try await self.start(more)
    }

    func start(_ more: [String]) async throws -> ServerProcess {
        try await ServerProcess.start(self.command("serve", more), of: "/usr/bin/env")
    }

    /// Starts the server; returns its output once it ended after SIGTERM.
    func serveOnce(_ more: String...) async throws -> String {
        let process = try await ServerProcess.start(self.command("serve", more), of: "/usr/bin/env")
        #expect(await process.terminate() == 0, "\(process.output)")
        return process.output
    }

    /// Sets the time of a file's last change, in seconds from now.
    func change(_ path: String, secondsFromNow: TimeInterval) throws {
        let time = Date(timeIntervalSinceNow: secondsFromNow)
        try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: path)
    }
}
