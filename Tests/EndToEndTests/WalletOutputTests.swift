import Foundation
import HostSystem
import LabFiles
import Testing
import TestSupport

/// The wallet program against a real server, as scripts use it.
@Suite("The wallet command")
final class WalletOutputTests {
    private let folder: String
    private let lab: String
    private let schema: JSONSchema

    init() async throws {
        self.folder =
            FileManager.default.temporaryDirectory.appendingPathComponent("rp-\(UUID().uuidString.prefix(8))")
            .path
        try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
        self.lab = self.folder + "/lab"
        let schemaPath = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../docs/wallet-output.schema.json").path
        self.schema = try JSONSchema(contentsOf: schemaPath)
        let made = try await ServerProcess.run("remote-pin-server", ["init", "--lab", self.lab])
        try #require(made.exitCode == 0, "\(made.output)")
    }

    deinit {
        try? FileManager.default.removeItem(atPath: self.folder)
    }

    /// Runs the wallet with these lines as PINs.
    private func wallet(_ pins: [String], _ arguments: String..., home: String = "phone") async throws -> ProgramRun {
        let file = self.folder + "/pins"
        try Data(pins.map { $0 + "\n" }.joined().utf8).write(to: URL(fileURLWithPath: file))
        let needsPIN = pins.isEmpty ? [] : ["--pin-file", file]
        return try await ServerProcess.run(
            "wallet",
            arguments + ["--lab", self.lab, "--home", self.folder + "/" + home] + needsPIN
        )
    }

    private func lines(_ run: ProgramRun) -> [String] {
        run.output.split(separator: "\n").map(String.init)
    }

    @Test("every output line conforms to the schema; the first has the version and the last the result")
    func everyLine() async throws {
        let server = try await ServerProcess.start(["lab", "up", self.lab])
        let runs = [
            try await self.wallet([], "open", "--json"),
            try await self.wallet(["111111"], "setup", "--json"),
            try await self.wallet(["024791", "024792"], "setup", "--json"),
            try await self.wallet(["024791"], "setup", "--json", "--code-written-down"),
            try await self.wallet(["024791"], "unlock", "--json"),
            try await self.wallet(["024791", "135790"], "change-pin", "--json"),
            try await self.wallet(["135790"], "show-deletion-code", "--json"),
            try await self.wallet([], "status", "--json"),
            try await self.wallet(["111222"], "unlock", "--json"),
            try await self.wallet(["111223"], "unlock", "--json"),
            try await self.wallet(["111224"], "unlock", "--json"),
            try await self.wallet(["111225"], "unlock", "--json"),
            try await self.wallet([], "open", "--json", "--network", "off"),
            try await self.wallet(["12"], "unlock", "--json", "--network", "on"),
            try await self.wallet([], "open", "--json", "--rooted"),
            try await self.wallet([], "wipe", "--json", "--no-rooted"),
        ]
        await server.terminate()
        let unreachable = try await self.wallet(["024791"], "setup", "--json", home: "other")
        #expect(
            (runs + [unreachable]).map(\.exitCode) == [0, 18, 18, 0, 0, 0, 0, 0, 10, 10, 10, 11, 0, 64, 14, 0, 16]
        )
        for run in runs + [unreachable] {
            let lines = self.lines(run)
            for line in lines { #expect(self.schema.findings(in: line).isEmpty, "\(line)") }
            #expect(try lines.enumerated().allSatisfy { try (JSONValue($1)["v"] == .integer(1)) == ($0 == 0) })
            let result = try JSONValue(try #require(lines.last))
            #expect(result["type"] == .string("result"))
            #expect(result["exitCode"] == .integer(Int(run.exitCode)))
        }
    }

    @Test("no output and no file of a wallet contains its PIN, and only the owner can read its home")
    func secrets() async throws {
        let server = try await ServerProcess.start(["lab", "up", self.lab])
        let runs = [
            try await self.wallet(["864209"], "setup", "--json", "--code-written-down"),
            try await self.wallet(["864209"], "unlock", "--trace"),
        ]
        var scanner = SecretScanner()
        scanner.add("PIN", word: "864209")
        for run in runs { #expect(scanner.findings(in: run.output).isEmpty) }
        await server.terminate()
        #expect(scanner.findings(in: server.output).isEmpty)
        let home = self.folder + "/phone"
        let manager = FileManager.default
        for name in try #require(manager.enumerator(atPath: home)?.allObjects as? [String]) {
            let path = home + "/" + name
            let attributes = try manager.attributesOfItem(atPath: path)
            let mode = try #require(attributes[.posixPermissions] as? Int)
            #expect(mode & 0o077 == 0, "\(name) has mode \(String(mode, radix: 8))")
            guard attributes[.type] as? FileAttributeType == .typeRegular else { continue }
            let contents = String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
            #expect(scanner.findings(in: contents).isEmpty, "\(name)")
        }
    }

    @Test("a home in use by another process is rejected with the process id")
    func homeInUse() async throws {
        let home = self.folder + "/phone"
        try DurableFile.makeFolder(home)
        let lock = try FileLock(home + "/lock")
        let run = try await self.wallet([], "open")
        #expect(run.exitCode == 75)
        #expect(run.output.contains("process \(ProcessInfo.processInfo.processIdentifier)"))
        withExtendedLifetime(lock) {}
    }

    @Test(
        "unreadable files are named and not changed",
        arguments: [
            ("phone/app", "state.json", "{\"version\":9,\"later\":true}", "another version of the app"),
            ("phone/app", "state.json", "{\"version\":1,\"registr", "damaged or was edited"),
            (".", "phone", "the home is a file", "not a directory (ENOTDIR)"),
        ]
    )
    func unreadable(place: String, name: String, contents: String, message: String) async throws {
        let folder = self.folder + "/" + place
        try DurableFile.makeFolder(folder)
        try DurableFile.write(Array(contents.utf8), to: folder + "/" + name)
        let run = try await self.wallet([], "open")
        #expect(run.exitCode == 70)
        #expect(run.output.contains(message), "\(run.output)")
        #expect(try DurableFile.read(folder + "/" + name, atMost: 1000) == Array(contents.utf8))
    }

    @Test("a damaged wallet is not set up anew, and `wipe` deletes it", arguments: [true, false])
    func damaged(isEmpty: Bool) async throws {
        let server = try await ServerProcess.start(["lab", "up", self.lab])
        #expect(try await self.wallet(["024791"], "setup", "--code-written-down").exitCode == 0)
        let state = self.folder + "/phone/app/state.json"
        if isEmpty { try DurableFile.write([], to: state) } else { try DurableFile.remove(state) }
        let setup = try await self.wallet(["135790"], "setup")
        #expect(setup.exitCode == 70 && setup.output.contains("delete the wallet to start again with `wallet wipe`"))
        let wiped = try await self.wallet([], "wipe", "--yes")
        #expect(wiped.exitCode == 0 && wiped.output.contains("deletion code"), "\(wiped.output)")
        #expect(try await self.wallet(["135790"], "setup", "--code-written-down").exitCode == 0)
        await server.terminate()
    }

    @Test("an error line names its cause, including an untrusted certificate of the server")
    func causes() async throws {
        let server = try await ServerProcess.start(["lab", "up", self.lab])
        let made = try await ServerProcess.run("remote-pin-server", ["init", "--lab", self.folder + "/other"])
        #expect(made.exitCode == 0)
        let (lab, other) = (
            try LabFile(of: LabFolder(self.lab)), try LabFile(of: LabFolder(self.folder + "/other"))
        )
        try DurableFile.makeFolder(self.folder + "/strange")
        for (yaml, cause) in [
            ("server_name: \(lab.serverName)\nca_file: \(other.caFile)\n", "certificate-untrusted"),
            ("server_name: elsewhere.example\nca_file: \(lab.caFile)\n", "certificate-name"),
            (
                "server_name: \(lab.serverName)\npublic_keys: [\(String(repeating: "0f", count: 32))]\n",
                "certificate-untrusted"
            ),
        ] {
            let file = self.folder + "/strange/wallet.yaml"
            try DurableFile.write(Array(("server: \(lab.host):\(lab.port)\n" + yaml).utf8), to: file)
            let run = try await ServerProcess.run("wallet", ["open", "--json", "--home", self.folder + "/strange"])
            #expect(run.exitCode == 16)
            let errors = try self.lines(run).map { try JSONValue($0) }.filter { $0["type"] == .string("error") }
            #expect(errors.map { $0["cause"] } == [.string(cause)], "\(run.output)")
            for line in self.lines(run) { #expect(self.schema.findings(in: line).isEmpty, "\(line)") }
        }
        await server.terminate()
    }

    @Test("an invalid option exits with 64, and the error names a missing lab")
    func usage() async throws {
        #expect(try await self.wallet([], "open", "--homee").exitCode == 64)
        let run = try await ServerProcess.run(
            "wallet",
            ["open", "--lab", self.folder + "/none", "--home", self.folder + "/phone"]
        )
        #expect(run.exitCode == 64)
        #expect(run.output.contains(self.folder + "/none"))
    }
}
