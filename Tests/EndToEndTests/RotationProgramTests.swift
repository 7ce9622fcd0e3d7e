import HostSystem
import Lab
import LabFiles
import TestSupport
import Testing

@Suite("A rotation of the vault's keys on servers that share a database, with the real programs")
struct RotationProgramTests {
    private static let pin = "135790"

    private let database: DatabaseUnderTest
    private let lab: LabUnderTest

    init() async throws {
        self.database = try DatabaseUnderTest()
        self.lab = try await LabUnderTest()
    }

    private func key(_ name: String) -> String { "\(self.lab.folder)/\(name).key" }
    private func socket(_ name: String) -> String { "\(self.lab.folder)/\(name).sock" }

    private func settings(_ name: String, module: String? = nil) throws -> [String: String] {
        var own = [
            "REMOTE_PIN_ADMIN_SOCKET": self.socket(name), "REMOTE_PIN_PORTAL_SOCKET": "none",
            "REMOTE_PIN_AUDIT_FILE": "\(self.lab.folder)/\(name).audit", "REMOTE_PIN_VAULT_KEY_FILE": self.key(name),
            "REMOTE_PIN_LOG_FILE": "none", "REMOTE_PIN_LOG_LEVEL": "notice",
        ]
        own["REMOTE_PIN_VAULT_SOCKET"] = module
        return try self.database.settings(of: name, folder: self.lab.folder).merging(own) { $1 }
    }

    private func use(port: Int) throws {
        var file = try LabFile(of: self.lab.lab)
        file.port = port
        try file.write(to: self.lab.lab)
    }

    /// Serves the lab as one of several servers, on a free port.
    ///
    /// - Parameter module: The socket of the daemon of a module.
    private func start(_ name: String, module: String? = nil) async throws -> (process: ServerProcess, port: Int) {
        try self.use(port: 0)
        let process = try await ServerProcess.start(
            ["serve", self.lab.lab.path],
            environment: self.settings(name, module: module)
        )
        return (process, try LabFile(of: self.lab.lab).port)
    }

    private func command(_ arguments: String..., at name: String) async throws -> ProgramRun {
        try await ServerProcess.run("remote-pin-server", arguments + ["--socket", self.socket(name)])
    }

    private func copyKey(from one: String, to other: String) throws {
        try DurableFile.write(try DurableFile.read(self.key(one), atMost: 1 << 16), to: self.key(other), mode: 0o600)
    }

    /// Runs a command for the database, as server a.
    private func store(_ arguments: String...) async throws {
        let options = try self.settings("a").flatMap { variable, value in
            let words = variable.dropFirst("REMOTE_PIN_".count).lowercased().split(separator: "_")
            return ["--\(words[0]).\(words.dropFirst().joined(separator: "-"))", value]
        }
        let run = try await ServerProcess.run(
            "remote-pin-server",
            ["store"] + arguments + [self.lab.lab.path] + options
        )
        try #require(run.exitCode == 0, "\(run.output)")
    }

    @Test("an epoch in a database from before a rotation names the new version, before any server starts")
    func restoredDatabase() async throws {
        let own = try DurableFile.read(self.lab.lab.vaultKeyFile, atMost: 1 << 16)
        try DurableFile.write(own, to: self.key("a"), mode: 0o600)
        try await self.store("init")
        let server = try await self.start("a").process
        try await self.database.run("create table public.before as select * from remote_pin.vault_versions")
        let rotated = try await self.command("vault", "rotate", "--yes", at: "a")
        #expect(rotated.exitCode == 0, "\(rotated.output)")
        #expect(await server.terminate() == 0)
        try await self.database.run(
            "delete from remote_pin.vault_versions",
            "insert into remote_pin.vault_versions select * from public.before"
        )
        try await self.store("epoch", "--yes")
        try await self.database.run(
            "do $$ begin assert (select max(version) = 2 from remote_pin.vault_versions); end $$"
        )
    }

    @Test("a wallet that changes servers at each visit notices nothing, in any phase of a rotation")
    func rotation() async throws {
        let own = try DurableFile.read(self.lab.lab.vaultKeyFile, atMost: 1 << 16)
        for name in ["a", "b"] { try DurableFile.write(own, to: self.key(name), mode: 0o600) }
        try await self.store("init")
        var servers = ["a": try await self.start("a"), "b": try await self.start("b")]
        let phone = CommandLinePhone(in: self.lab)
        try await phone.setUp(pin: Self.pin)

        func visit(_ name: String, _ phase: String) async throws {
            try self.use(port: try servers[name].orThrow().port)
            let run = try await phone.run("unlock", pins: [Self.pin])
            #expect(run.exitCode == 0, "\(phase), \(name): \(run.output)")
            #expect(!run.output.contains("tampering"), "\(phase), \(name): \(run.output)")
        }
        func visits(_ phase: String) async throws { for name in ["a", "b", "a", "b"] { try await visit(name, phase) } }

        try await visits("before")
        var rotated = try await self.command("vault", "rotate", "--yes", at: "a")
        #expect(rotated.exitCode == 77 && rotated.output.contains("these servers lack it: b"), "\(rotated.output)")
        try await visits("only a has the key")
        try self.copyKey(from: "a", to: "b")
        #expect(try await self.command("admin", "reload", at: "b").exitCode == 0)
        try await visits("both have the key")
        // The other server names its new key with its next renewal.
        repeat { rotated = try await self.command("vault", "rotate", "--yes", at: "a") } while rotated.exitCode == 77
        #expect(rotated.exitCode == 0, "\(rotated.output)")
        // The other server does not seal with the new key yet, and learns of it within a minute.
        try await visits("rotated")
        #expect(await servers["b"]?.process.terminate() == 0)
        servers["b"] = try await self.start("b")
        try await visits("the other server was restarted")

        // A server with the old key does not start.
        #expect(await servers["b"]?.process.terminate() == 0)
        try DurableFile.write(own, to: self.key("b"), mode: 0o600)
        let refused = await #expect(throws: ServerProcess.NotReady.self) { try await self.start("b") }
        #expect(refused?.output.contains("version 2:") == true, "\(refused?.output ?? "")")
        #expect(await servers["a"]?.process.terminate() == 0)
    }

    @Test("of two servers with one module, one rotates to the module's keys, and both serve all wallets with them")
    func module() async throws {
        let token = try await SoftToken()
        try await token.make("key-2", "history-2")
        // Each machine has its own daemon.
        func keys(_ name: String) -> String { token.folder.file("\(name).sock") }
        var daemons: [ServerProcess] = []
        for name in ["a", "b"] { daemons.append(try await token.serve(socket: keys(name))) }
        let own = try DurableFile.read(self.lab.lab.vaultKeyFile, atMost: 1 << 16)
        for name in ["a", "b"] { try DurableFile.write(own, to: self.key(name), mode: 0o600) }
        try await self.store("init")
        var servers: [String: (process: ServerProcess, port: Int)] = [:]
        for name in ["a", "b"] { servers[name] = try await self.start(name, module: keys(name)) }
        let phone = CommandLinePhone(in: self.lab)
        try await phone.setUp(pin: Self.pin)
        func visits(_ phase: String) async throws {
            for name in ["a", "b"] {
                try self.use(port: try servers[name].orThrow().port)
                let run = try await phone.run("unlock", pins: [Self.pin])
                #expect(run.exitCode == 0, "\(phase), \(name): \(run.output)")
            }
        }
        try await visits("before")
        var rotated = try await self.command("vault", "rotate", "--yes", at: "a")
        #expect(rotated.exitCode == 77 && rotated.output.contains("these servers lack it: b"), "\(rotated.output)")
        try self.copyKey(from: "a", to: "b")
        #expect(try await self.command("admin", "reload", at: "b").exitCode == 0)
        // The other server names its new key with its next renewal.
        repeat { rotated = try await self.command("vault", "rotate", "--yes", at: "a") } while rotated.exitCode == 77
        #expect(rotated.exitCode == 0, "\(rotated.output)")
        try await visits("rotated")
        #expect(await servers["b"]?.process.terminate() == 0)
        servers["b"] = try await self.start("b", module: keys("b"))
        try await visits("the other server was restarted")
        for name in ["a", "b"] {
            let text = try DurableFile.readText(self.key(name), atMost: 1 << 16)
            #expect(text.contains("\nkey 2 module ") && text.contains("\nhistory 2 module "), "\(text)")
            #expect(text.contains("\nactive 2\n"), "\(text)")
            #expect(await servers[name]?.process.terminate() == 0)
        }
        for daemon in daemons { #expect(await daemon.terminate() == 0) }
    }
}
