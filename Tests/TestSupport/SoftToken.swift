internal import Foundation

/// A SoftHSM token in a folder, and `remote-pin-keys` with the fault-injecting shim before it.
package struct SoftToken: Sendable {
    package static let pin = "271828"
    package static let softHSM = "/usr/lib/softhsm/libsofthsm2.so"
    package static let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path

    /// A program that did not do what the test needs.
    package struct Failed: Error {
        package let output: String
    }

    package let folder = TemporaryFolder()

    package var socket: String { self.folder.file("keys.sock") }
    package var tokens: String { self.folder.file("tokens") }
    private var shim: String { self.folder.file("shim.so") }
    private var calls: String { self.folder.file("calls") }

    package init(label: String = "remote-pin") async throws {
        try await self.prepare()
        try FileManager.default.createDirectory(atPath: self.tokens, withIntermediateDirectories: false)
        try await self.makeToken(label)
    }

    /// Copies another token, as the backup of a module is restored to a second one.
    package init(restoring other: SoftToken) async throws {
        try await self.prepare()
        try FileManager.default.copyItem(atPath: other.tokens, toPath: self.tokens)
    }

    private func prepare() async throws {
        _ = try self.folder.write("directories.tokendir = \(self.tokens)\n", to: "softhsm2.conf")
        try self.setPIN(Self.pin)
        let source = "\(Self.repository)/Tests/Faults/pkcs11-shim.c"
        try await self.succeed("/usr/bin/cc", ["-shared", "-fPIC", "-o", self.shim, source])
    }

    /// Makes a token; its label need not be unique.
    package func makeToken(_ label: String) async throws {
        let arguments = ["--init-token", "--free", "--label", label, "--pin", Self.pin, "--so-pin", "31415926"]
        try await self.succeed("/usr/bin/softhsm2-util", arguments)
    }

    /// Writes the daemon's PIN file.
    package func setPIN(_ pin: String, mode: Int = 0o600) throws {
        let path = try self.folder.write("\(pin)\n", to: "pin")
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    /// The environment of the daemon, whose module's faults are in the plan.
    private func environment(_ plan: String) -> [String: String] {
        [
            "SOFTHSM2_CONF": self.folder.file("softhsm2.conf"), "SHIM_MODULE": Self.softHSM, "SHIM_PLAN": plan,
            "SHIM_CALLS": self.calls,
        ]
    }

    /// Runs a command of the daemon to its end.
    package func run(_ arguments: [String], plan: String = "") async throws -> ProgramRun {
        let options = ["--module", self.shim, "--pin-file", self.folder.file("pin")]
        return try await self.run(Programs.path("remote-pin-keys"), arguments + options, plan: plan)
    }

    private func run(_ program: String, _ arguments: [String], plan: String = "") async throws -> ProgramRun {
        let variables = self.environment(plan).map { "\($0.key)=\($0.value)" }
        // A daemon that does not end fails the test instead of blocking it.
        return try await ServerProcess.run("/usr/bin/env", variables + ["timeout", "60", program] + arguments)
    }

    private func succeed(_ program: String, _ arguments: [String]) async throws {
        let run = try await self.run(program, arguments)
        guard run.exitCode == 0 else { throw Failed(output: run.output) }
    }

    /// Makes keys without faults.
    package func make(_ labels: String...) async throws {
        for label in labels {
            let run = try await self.run(["make", label])
            guard run.exitCode == 0 else { throw Failed(output: run.output) }
        }
    }

    /// Deletes the keys of all tokens, each of which is a file of SoftHSM.
    package func deleteKeys() throws {
        let files = try FileManager.default.subpathsOfDirectory(atPath: self.tokens)
        for file in files where file.hasSuffix(".object") && !file.hasSuffix("/token.object") {
            try FileManager.default.removeItem(atPath: "\(self.tokens)/\(file)")
        }
    }

    /// Starts the daemon and returns when it is ready.
    package func serve(
        _ options: [String] = [],
        plan: String = "",
        socket: String? = nil
    ) async throws -> ServerProcess {
        let arguments = ["serve", "--module", self.shim, "--pin-file", self.folder.file("pin")]
        return try await ServerProcess.start(
            arguments + ["--socket", socket ?? self.socket] + options,
            of: "remote-pin-keys",
            environment: self.environment(plan)
        )
    }

    /// Returns the exit status of a daemon that has reason to end.
    package static func status(of daemon: ServerProcess) async throws -> Int32 {
        try await poll { !isRunning(daemon.processID) }
        return await daemon.ended()
    }

    /// The number of calls of a module's function by all processes so far.
    package func count(_ function: String) -> Int {
        let text = (try? String(contentsOfFile: self.calls, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").count { $0 == function }
    }

    /// Sends a line on a new connection; returns the answer without its end, or an empty text if there is none.
    package func ask(_ line: String) async throws -> String {
        let client = try await RawClient(unixSocket: self.socket)
        defer { client.close() }
        await client.send("\(line)\n")
        let answer = await client.receive(until: "\n")
        return answer.hasSuffix("\n") ? String(answer.dropLast()) : ""
    }

    /// Sends requests until one succeeds.
    package func recovers() async throws {
        try await poll { try await self.ask(Self.request).hasPrefix("ok ") }
    }

    package static let request = "mac key-1 00ff"
}
