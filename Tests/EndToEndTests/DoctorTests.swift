import Foundation
import Glibc
import HostSystem
import LabFiles
import TestSupport
import Testing

@Suite("The doctor")
struct DoctorTests {
    /// One finding of `--json`.
    private struct Finding: Hashable {
        let check: String?
        let severity: String?
        let text: String
        let cure: String?
    }

    private static func findings(_ run: ProgramRun) throws -> [Finding] {
        let json = try JSONValue(run.output)
        return (json["findings"]?.array ?? []).map {
            Finding(
                check: $0["check"]?.string,
                severity: $0["severity"]?.string,
                text: $0["text"]?.string ?? "",
                cure: $0["cure"]?.string
            )
        }
    }

    private static func faults(_ run: ProgramRun) throws -> [Finding] {
        try self.findings(run).filter { $0.severity != "good" }
    }

    /// The contents of all files that the server and its commands write.
    private static func contents(of folder: String) throws -> [String: [UInt8]] {
        var contents: [String: [UInt8]] = [:]
        for case let path as String in FileManager.default.enumerator(atPath: folder) ?? .init() {
            let file = "\(folder)/\(path)"
            guard !path.hasSuffix(".sock"), !DurableFile.isFolder(file) else { continue }
            contents[path] = try DurableFile.read(file, atMost: 1 << 26)
        }
        return contents
    }

    @Test("a sound server, running or stopped, has no fault, and no file changes")
    func sound() async throws {
        let lab = try await LabUnderTest()
        // A running server writes files itself.
        func doctor(mayChange: Bool = false) async throws -> ProgramRun {
            let before = try Self.contents(of: lab.lab.path)
            let run = try await ServerProcess.run(
                "remote-pin-server",
                ["doctor", "--json", lab.lab.path, "--limits.connections", "100"]
            )
            #expect(try mayChange || Self.contents(of: lab.lab.path) == before)
            #expect(run.exitCode == 0, "\(run.output)")
            return run
        }
        let server = try await lab.start()
        let running = try Self.findings(try await doctor(mayChange: true))
        #expect(running.contains { $0.check == "server" && $0.text == "running as process \(server.processID)" })
        #expect(await server.terminate() == 0)
        let stopped = try Self.findings(try await doctor())
        #expect(stopped.contains { $0.check == "server" && $0.text == "stopped" })
        for check in ["store", "audit", "backup", "disk", "rights", "certificate", "vault", "clock", "descriptors"] {
            #expect(running.contains { $0.check == check } && stopped.contains { $0.check == check }, "\(check)")
        }
        #expect(stopped.allSatisfy { $0.cure == nil })
        let text = try await ServerProcess.run("remote-pin-server", ["doctor", lab.lab.path])
        #expect(text.output.contains("CHECK") && text.output.contains("certificate"), "\(text.output)")
    }

    @Test("the age of the last backup, and a backup that failed, are found in the audit log")
    func backups() async throws {
        let lab = try await LabUnderTest()
        func backup() async throws -> Finding {
            let run = try await ServerProcess.run("remote-pin-server", ["doctor", "--json", lab.lab.path])
            return try (try Self.findings(run).first { $0.check == "backup" }).orThrow()
        }
        func make(_ file: String) async throws -> Int32 {
            try await ServerProcess.run("remote-pin-server", ["backup", file, "--lab", lab.lab.path]).exitCode
        }
        let server = try await lab.start()
        #expect(try await make("\(lab.folder)/one.backup") == 0)
        #expect(try await backup().severity == "good")
        #expect(try await make("\(lab.folder)/none/two.backup") == 74)
        let failed = try await backup()
        #expect(failed.severity == "warning" && failed.text.contains("a later one failed"), "\(failed)")
        #expect(try await make("\(lab.folder)/two.backup") == 0)
        #expect(try await backup().severity == "good")
        for (time, severity) in [("27h", "warning"), ("7d", "problem")] {
            let moved = try await ServerProcess.run(
                "remote-pin-server",
                ["admin", "clock", "advance", time, "--lab", lab.lab.path]
            )
            #expect(moved.exitCode == 0, "\(moved.output)")
            let late = try await backup()
            #expect(late.severity == severity && late.cure?.contains("backup FILE") == true, "\(late)")
        }
        #expect(await server.terminate() == 0)
    }

    @Test("faults of files, clock, certificate and machine are found, each with its cure")
    func files() async throws {
        let server = try await ProductionUnderTest()
        _ = try await server.serveOnce()
        func found(_ check: String, _ severity: String, _ text: String, _ cure: String, _ more: String...) async throws
        {
            let run = try await ServerProcess.run("/usr/bin/env", server.command("doctor", ["--json"] + more))
            let finding = try Self.faults(run).first { $0.check == check }
            #expect(finding?.severity == severity, "\(run.output)")
            #expect(finding?.text.contains(text) == true && finding?.cure?.contains(cure) == true, "\(run.output)")
            #expect(run.exitCode == (severity == "problem" ? 2 : 1), "\(run.output)")
        }
        try await found("backup", "warning", "no backup is on record", "backup FILE")
        let database = "\(server.dataFolder)/wallets.db"
        #expect(unsafe chmod(database, 0o666) == 0)
        try await found("rights", "problem", "has mode 0666", "chmod o-w \(database)")
        #expect(unsafe chmod(database, 0o600) == 0)
        if geteuid() == 0 {
            #expect(unsafe chown(server.auditFile, 0, 0) == 0 && chmod(server.auditFile, 0o644) == 0)
            try await found("rights", "problem", "\(server.auditFile) belongs to root", "chown")
            try server.giveToOwner()
        }
        for file in [database, "\(server.dataFolder)/lock"] { try server.change(file, secondsFromNow: 3 * 86_400) }
        try await found("clock", "problem", "2d behind", "set the clock")
        for file in [database, "\(server.dataFolder)/lock"] { try server.change(file, secondsFromNow: -1) }
        let certificate = "\(server.folder)/tls.pem"
        try FileManager.default.moveItem(atPath: certificate, toPath: certificate + ".old")
        try await found("certificate", "problem", certificate, "install")
        try FileManager.default.moveItem(atPath: certificate + ".old", toPath: certificate)
        try await found("hook", "problem", "/etc/passwd", "executable", "--hook.program", "/etc/passwd")
        try await found("witness", "problem", "does not answer", "start the witness", "--witness.program", "/bin/false")
        let list = "\(server.folder)/status.json"
        try "{\"entries\":{}}".write(toFile: list, atomically: false, encoding: .utf8)
        for (days, severity, word) in [(6.5, "warning", "becomes stale"), (8, "problem", "no Android device can")] {
            try server.change(list, secondsFromNow: -days * 86_400)
            try await found("status-list", severity, word, "fetch", "--android.status-list", list)
        }
        try await found("configuration", "problem", "pin.rounds", "settings", "--pin.rounds", "x")
        let few = try await ServerProcess.run(
            "/bin/sh",
            ["-c", "ulimit -n 1500; exec \"$@\"", "sh"] + server.command("doctor", ["--json"])
        )
        let files = try Self.faults(few).first { $0.check == "descriptors" }
        #expect(files?.severity == "warning" && files?.cure?.contains("LimitNOFILE") == true, "\(few.output)")
    }

    @Test("a store that lacks commits and an audit log that was altered or cut are problems")
    func damage() async throws {
        let lab = try await LabUnderTest()
        func fault(_ check: String) async throws -> Finding? {
            let run = try await ServerProcess.run(
                "remote-pin-server",
                ["doctor", "--json", lab.lab.path, "--limits.connections", "100"]
            )
            return try Self.faults(run).first { $0.check == check }
        }
        let server = try await ServerProcess.start(["lab", "up", lab.lab.path])
        let wallet = try await lab.register(pin: "135790")
        _ = try await wallet.openSession().check("000000")
        await server.kill()
        let crashed = try await fault("store")
        #expect(
            crashed?.severity == "warning" && crashed?.text.contains("did not stop in order") == true,
            "\(crashed as Any)"
        )
        let log = "\(lab.lab.dataFolder)/wallets.db-wal"
        let bytes = try DurableFile.read(log, atMost: 1 << 26)
        try DurableFile.remove(log)
        let lost = try await fault("store")
        #expect(
            lost?.severity == "problem" && lost?.text.contains("Counted attempts are missing") == true,
            "\(lost as Any)"
        )
        #expect(lost?.cure?.contains("restore") == true)
        // The doctor left the finding for the next start.
        try DurableFile.write(bytes, to: log)
        let again = try await ServerProcess.start(["lab", "up", lab.lab.path])
        #expect(await again.terminate() == 0)
        #expect(try await fault("store") == nil)

        let audit = "\(lab.lab.serverFolder)/audit.log"
        let whole = try String(contentsOfFile: audit, encoding: .utf8)
        let changed = whole.replacing("\"epoch\":1", with: "\"epoch\":2", maxReplacements: 1)
        #expect(changed != whole)
        try changed.write(toFile: audit, atomically: false, encoding: .utf8)
        let altered = try await fault("audit")
        #expect(altered?.severity == "problem" && altered?.text.contains("altered") == true, "\(altered as Any)")
        // The server's log file has a later mark.
        let lines = whole.split(separator: "\n")
        try (lines.dropLast().joined(separator: "\n") + "\n").write(toFile: audit, atomically: false, encoding: .utf8)
        let cut = try await fault("audit")
        #expect(cut?.severity == "problem" && cut?.text.contains("the log was cut") == true, "\(cut as Any)")
    }

    @Test("a disk without space is a problem", .enabled(if: SmallDisk.isPermitted))
    func disk() async throws {
        let lab = try await LabUnderTest()
        let disk = try SmallDisk(at: lab.lab.dataFolder)
        let run = try await ServerProcess.run("remote-pin-server", ["doctor", "--json", lab.lab.path])
        let fault = try Self.faults(run).first { $0.check == "disk" }
        #expect(fault?.severity == "problem" && fault?.text.contains(disk.path) == true, "\(run.output)")
        #expect(run.exitCode == 2)
    }

    @Test("a user who may not read the server's files gets a permission error", .enabled(if: geteuid() == 0))
    func otherUser() async throws {
        let server = try await ProductionUnderTest()
        let command = server.command("doctor", []).map { $0.replacing("=65534", with: "=65533") }
        let run = try await ServerProcess.run("/usr/bin/env", command)
        let touched = "\(server.lab.folder)/touched"
        let program = "\(server.lab.folder)/witness"
        try "#!/bin/sh\ntouch \(touched)\n".write(toFile: program, atomically: false, encoding: .utf8)
        #expect(unsafe chmod(program, 0o755) == 0)
        let root = try await ServerProcess.run(
            "remote-pin-server",
            Array(server.command("doctor", ["--json", "--witness.program", program]).drop { $0 != "doctor" })
        )
        #expect(root.output.contains("not asked") && !DurableFile.exists(touched), "\(root.output)")
        #expect(run.exitCode == 77 && run.output.contains("run the doctor with sudo -u"), "\(run.output)")
    }
}
