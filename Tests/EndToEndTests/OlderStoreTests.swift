import Foundation
import HostSystem
import LabFiles
import TestSupport
import Testing
import Vocabulary
import Wire

@Suite("An older store, and an audit log that is not the store's, with the real programs")
struct OlderStoreTests {
    private let lab: LabUnderTest
    private static let log = ["REMOTE_PIN_LOG_FILE": "none", "REMOTE_PIN_LOG_LEVEL": "notice"]

    init() async throws { self.lab = try await LabUnderTest() }

    private var data: String { self.lab.lab.dataFolder }
    private var auditLog: String { "\(self.lab.lab.serverFolder)/audit.log" }
    private func file(_ name: String) -> String { "\(self.lab.folder)/\(name)" }

    private func run(_ arguments: String...) async throws -> ProgramRun {
        try await ServerProcess.run("remote-pin-server", arguments + ["--lab", self.lab.lab.path])
    }

    /// Starts the server, which must end with this status, and returns its output.
    private func refusal(_ environment: [String: String] = Self.log, status: Int32 = 79) async throws -> String {
        let settings = environment.map { "\($0.key)=\($0.value)" }
        let server = [Programs.path("remote-pin-server"), "lab", "up", self.lab.lab.path]
        let limited = ["-s", "KILL", "30", "/usr/bin/env"] + settings + server
        let run = try await ServerProcess.run("/usr/bin/timeout", limited)
        #expect(run.exitCode == status, "\(run.output)")
        return run.output
    }

    private func replace(_ path: String, by copy: String) throws {
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.copyItem(atPath: copy, toPath: path)
    }

    private func isRevoked(_ wallet: TestWallet) async throws -> Bool {
        if case .revoked = try await wallet.openSession().opening { true } else { false }
    }

    /// The numbers in the file of a witness.
    private func witnessed() throws -> JSONValue {
        try JSONValue(String(decoding: try DurableFile.read(self.file("witnessed"), atMost: 1 << 10), as: UTF8.self))
    }

    /// The settings of a server with the shipped witness, whose file is not on the server's volume.
    private var witness: [String: String] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().path
        return Self.log.merging([
            "REMOTE_PIN_WITNESS_PROGRAM": "\(root)/deploy/witness/file-witness",
            "REMOTE_PIN_WITNESS_ARGUMENTS": "[\(self.file("witnessed"))]",
        ]) { $1 }
    }

    @Test(
        "if only the database is put back, a wallet revoked on record stays revoked, and the suggested way out works",
        arguments: [false, true]
    )
    func database(killed: Bool) async throws {
        var server = try await self.lab.start(Self.log)
        let (wallet, other) = (try await self.lab.register(pin: "135790"), try await self.lab.register(pin: "135790"))
        #expect(await server.terminate() == 0)
        try FileManager.default.copyItem(atPath: self.data, toPath: self.file("older"))
        server = try await self.lab.start(Self.log)
        #expect(try await self.run("admin", "revoke", "wallet", "\(wallet.walletID)").exitCode == 0)
        if killed { await server.kill() } else { #expect(await server.terminate() == 0) }
        try self.replace(self.data, by: self.file("older"))
        let output = try await self.refusal()
        #expect(output.contains("the store is an older copy") && output.contains("backup FILE"), "\(output)")

        // The way out that the message names.
        let copied = try await self.run("backup", self.file("kept.backup"))
        #expect(copied.exitCode == 0, "\(copied.output)")
        try FileManager.default.moveItem(atPath: self.data, toPath: self.file("away"))
        let restored = try await self.run("restore", self.file("kept.backup"))
        #expect(restored.exitCode == 0 && restored.output.contains("1 wallet ended again"), "\(restored.output)")
        server = try await self.lab.start(Self.log)
        #expect(try await self.isRevoked(wallet))
        #expect(try await !self.isRevoked(other))
        #expect(await server.terminate() == 0)
    }

    /// Copies the data folder of a stopped server, and returns the server after three guesses that the copy lacks, and
    /// the wallet.
    private func guessedSinceCopy() async throws -> (server: ServerProcess, wallet: TestWallet) {
        let first = try await self.lab.start(Self.log)
        let wallet = try await self.lab.register(pin: "135790")
        #expect(await first.terminate() == 0)
        try FileManager.default.copyItem(atPath: self.data, toPath: self.file("older"))
        let server = try await self.lab.start(Self.log)
        for _ in 0..<3 { _ = try await wallet.openSession().check("000000") }
        return (server, wallet)
    }

    @Test("an older database without any revocation since is recognized by the generation in the log")
    func generation() async throws {
        let (server, _) = try await self.guessedSinceCopy()
        #expect(await server.writes("generation="))
        #expect(await server.terminate() == 0)
        try self.replace(self.data, by: self.file("older"))
        let output = try await self.refusal()
        #expect(output.contains("records generation"), "\(output)")
    }

    @Test("an older data folder is found by the mark beside an audit log without entries since, and the way out works")
    func dataFolder() async throws {
        var (server, wallet) = try await self.guessedSinceCopy()
        await server.kill()
        try self.replace(self.data, by: self.file("older"))
        let output = try await self.refusal()
        #expect(output.contains("according to the mark beside the audit log"), "\(output)")
        #expect(output.contains("backup FILE"), "\(output)")
        let doctor = try await ServerProcess.run("remote-pin-server", ["doctor", self.lab.lab.path])
        #expect(doctor.output.contains("according to the mark beside the audit log"), "\(doctor.output)")

        for isMarkLost in [false, true] {
            if isMarkLost {
                try FileManager.default.removeItem(atPath: "\(self.auditLog).mark")
                let output = try await self.refusal()
                #expect(output.contains("audit.log.mark, which names") && output.contains("backup FILE"), "\(output)")
                try FileManager.default.removeItem(atPath: self.file("away"))
            }
            #expect(try await self.run("backup", self.file("kept\(isMarkLost).backup")).exitCode == 0)
            try FileManager.default.moveItem(atPath: self.data, toPath: self.file("away"))
            let restored = try await self.run("restore", self.file("kept\(isMarkLost).backup"))
            #expect(restored.exitCode == 0, "\(restored.output)")
            server = try await self.lab.start(Self.log)
            #expect(try await !self.isRevoked(wallet))
            #expect(await server.terminate() == 0)
        }
    }

    @Test("the generation is logged at most once a second, and once more when the server stops")
    func announcements() async throws {
        @Sendable func lines(_ server: ServerProcess) -> [Substring] {
            server.output.split(separator: "\n").filter { $0.contains(" audit log generation=") }
        }
        let server = try await self.lab.start(Self.log)
        let session = try await self.lab.register(pin: "135790").openSession()
        let before = lines(server).count
        // Each check raises the generation.
        #expect(
            await eventually {
                _ = try? await session.check("135790")
                return lines(server).count >= before + 3
            }
        )
        let times = lines(server).dropFirst(before).map { $0.prefix(while: { $0 != "." && $0 != " " }) }
        #expect(Set(times).count == times.count, "\(times)")
        let serving = lines(server).count
        #expect(await server.terminate() == 0)
        #expect(lines(server).count > serving)
    }

    @Test("if the whole volume is put back, a witness knows a later generation, and a restore continues beyond it")
    func wholeVolume() async throws {
        let folder = self.lab.lab.serverFolder
        var server = try await self.lab.start(self.witness)
        let wallet = try await self.lab.register(pin: "135790")
        _ = try await wallet.openSession().check("135790")
        #expect(await server.terminate() == 0)
        try FileManager.default.copyItem(atPath: folder, toPath: self.file("volume"))
        server = try await self.lab.start(self.witness)
        for _ in 0..<4 { _ = try await wallet.openSession().check("000000") }
        await server.kill()
        try self.replace(folder, by: self.file("volume"))
        // Store, key and log are from the same time and therefore consistent; only the witness can show that they are
        // old.
        let output = try await self.refusal(self.witness)
        #expect(output.contains("the witness has") && output.contains("older copy"), "\(output)")

        let settings = self.witness.map { "\($0.key)=\($0.value)" }
        func run(_ arguments: String...) async throws -> ProgramRun {
            let program = [Programs.path("remote-pin-server")] + arguments + ["--lab", self.lab.lab.path]
            return try await ServerProcess.run("/usr/bin/env", settings + program)
        }
        #expect(try await run("backup", self.file("kept.backup")).exitCode == 0)
        try FileManager.default.moveItem(atPath: self.data, toPath: self.file("away"))
        let restored = try await run("restore", self.file("kept.backup"))
        #expect(restored.exitCode == 0, "\(restored.output)")
        let before = try self.witnessed()
        server = try await self.lab.start(self.witness)
        #expect(await server.terminate() == 0)
        let after = try self.witnessed()
        for name in ["generation", "step"] {
            guard case .integer(let old)? = before[name], case .integer(let new)? = after[name] else {
                throw UnexpectedAnswer()
            }
            #expect(new > old, "\(name)")
        }
        // Without its record, as on another machine, the witness accepts any state again.
        try FileManager.default.removeItem(atPath: self.file("witnessed"))
        server = try await self.lab.start(self.witness)
        #expect(await server.terminate() == 0)
    }

    @Test("a silent witness prevents the start if it is required, and only then")
    func silent() async throws {
        var settings = Self.log.merging(["REMOTE_PIN_WITNESS_SOCKET": self.file("nobody.sock")]) { $1 }
        let output = try await self.refusal(settings, status: 69)
        #expect(output.contains("the witness does not answer") && output.contains("witness.required"), "\(output)")
        settings["REMOTE_PIN_WITNESS_REQUIRED"] = "false"
        let server = try await self.lab.start(settings)
        #expect(await server.writes("the witness does not answer"))
        #expect(await server.terminate() == 0)
    }

    @Test("a log shortened by two entries or removed is detected at the start, and the way out names the loss")
    func log() async throws {
        var server = try await self.lab.start(Self.log)
        let wallet = try await self.lab.register(pin: "135790")
        #expect(try await self.run("admin", "revoke", "wallet", "\(wallet.walletID)").exitCode == 0)
        #expect(await server.terminate() == 0)
        let whole = try DurableFile.read(self.auditLog, atMost: 1 << 20)
        let lines = whole.split(separator: 0x0A, omittingEmptySubsequences: true)
        try DurableFile.write(Array(lines.dropLast(2).joined(separator: [0x0A])) + [0x0A], to: self.auditLog)
        let cut = try await self.refusal()
        #expect(cut.contains("lacks an entry that the store names") && cut.contains("Put the log back"), "\(cut)")
        try FileManager.default.removeItem(atPath: self.auditLog)
        let removed = try await self.refusal()
        #expect(removed.contains("there is no \(self.auditLog)"), "\(removed)")
        #expect(!DurableFile.exists(self.auditLog))

        try DurableFile.write(whole, to: self.auditLog)
        server = try await self.lab.start(Self.log)
        #expect(await server.terminate() == 0)
        try FileManager.default.removeItem(atPath: self.auditLog)
        #expect(try await self.run("backup", self.file("kept.backup")).exitCode == 0)
        try FileManager.default.moveItem(atPath: self.data, toPath: self.file("away"))
        #expect(try await self.run("restore", self.file("kept.backup")).exitCode == 64)
        #expect(try await self.run("restore", self.file("kept.backup"), "--yes").exitCode == 0)
        server = try await self.lab.start(Self.log)
        #expect(try await self.isRevoked(wallet))
        #expect(await server.terminate() == 0)
    }

    @Test("a removed log is found although the store no longer names an entry of it, and the way out names the loss")
    func logAndMark() async throws {
        var server = try await self.lab.start(Self.log)
        #expect(server.output.contains(" notice there is no audit log; a new one is begun"), "\(server.output)")
        let wallet = try await self.lab.register(pin: "135790")
        #expect(await server.terminate() == 0)
        let text =
            "import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); d.execute('delete from audit_mark'); "
            + "d.commit()"
        let database = "\(self.data)/wallets.db"
        #expect(try await ServerProcess.run("/usr/bin/python3", ["-c", text, database]).exitCode == 0)
        server = try await self.lab.start(Self.log)
        #expect(await server.terminate() == 0, "the log has the start")
        #expect(try await ServerProcess.run("/usr/bin/python3", ["-c", text, database]).exitCode == 0)
        try FileManager.default.removeItem(atPath: self.auditLog)
        let removed = try await self.refusal()
        #expect(removed.contains("the store holds wallets") && removed.contains("Put the log back"), "\(removed)")
        #expect(!DurableFile.exists(self.auditLog))

        #expect(try await self.run("backup", self.file("kept.backup")).exitCode == 0)
        let begun = try await self.refusal()
        #expect(begun.contains("the store holds wallets"), "\(begun)")
        try FileManager.default.moveItem(atPath: self.data, toPath: self.file("away"))
        #expect(try await self.run("restore", self.file("kept.backup")).exitCode == 64)
        #expect(try await self.run("restore", self.file("kept.backup"), "--yes").exitCode == 0)
        server = try await self.lab.start(Self.log)
        #expect(try await !self.isRevoked(wallet))
        #expect(await server.terminate() == 0)
    }

    @Test("a start and a stop are on record, with the policy and a digest that changes with the settings")
    func starts() async throws {
        var environment = Self.log
        var details: [String] = []
        for rounds in ["4", "4", "5"] {
            environment["REMOTE_PIN_PIN_ROUNDS"] = rounds
            let server = try await self.lab.start(environment)
            #expect(await server.terminate() == 0)
        }
        let text = String(decoding: try DurableFile.read(self.auditLog, atMost: 1 << 20), as: UTF8.self)
        var events: [String] = []
        for line in text.split(separator: "\n") {
            let entry = try JSONValue(String(line))
            events.append(try (entry["event"]?.string).orThrow())
            if events.last == "started" { details.append(try (entry["detail"]?.string).orThrow()) }
        }
        #expect(events == ["log begun"] + Array(repeating: ["started", "stopped"], count: 3).flatMap(\.self))
        #expect(details[0] == details[1] && details[1] != details[2])
        #expect(details[0].contains("4 rounds of 4") && details[2].contains("5 rounds of 4"), "\(details)")
        #expect(details[0].hasPrefix("version ") && details[0].contains("settings sha256 "))
    }
}
