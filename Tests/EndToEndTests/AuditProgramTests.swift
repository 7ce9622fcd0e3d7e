import Foundation
import HostSystem
import Lab
import LabFiles
import TestSupport
import Testing
import Vocabulary
import Wire

@Suite("The audit log and the server's operation, with the real programs")
struct AuditProgramTests {
    private let lab: LabUnderTest

    init() async throws { self.lab = try await LabUnderTest() }

    private var file: String { "\(self.lab.lab.serverFolder)/audit.log" }

    private func admin(_ arguments: String...) async throws -> ProgramRun {
        try await ServerProcess.run("remote-pin-server", ["admin"] + arguments + ["--lab", self.lab.lab.path])
    }

    private func json(_ arguments: String...) async throws -> JSONValue {
        let run = try await ServerProcess.run(
            "remote-pin-server",
            ["admin"] + arguments + ["--json", "--lab", self.lab.lab.path]
        )
        try #require(run.exitCode == 0, "\(run.output)")
        return try JSONValue(run.output)
    }

    @Test("the log names the user of each command, is verified with and without the server, and contains no code")
    func record() async throws {
        let server = try await self.lab.start()
        let (wallet, other) = (try await self.lab.register(pin: "135790"), try await self.lab.register(pin: "135790"))
        let code = "NL-999-1234"
        #expect(try await self.admin("revoke", "wallet", "\(wallet.walletID)").exitCode == 0)
        #expect(try await self.admin("revoke", "recovery-code", code).exitCode == 80)
        let text = try other.deletionCode.orThrow().characters
        #expect(await (try self.lab.server.connect()).answer(.revokeWithCode(text)) == .other("revoked"))
        let shown = try await self.json("audit", "show", "--wallet", "\(wallet.walletID)")
        let entries = try (shown["entries"]?.array).orThrow()
        #expect(entries.compactMap { $0["phase"]?.string } == ["begun", "done"])
        #expect(entries.allSatisfy { $0["actor"]?.string?.hasPrefix("uid \(geteuid())") == true })
        let by = try await self.json("audit", "show", "--actor", "deletion code")
        #expect(by["entries"]?.array.count == 2)
        let running = try await self.json("audit", "verify")
        #expect(running["intact"] == .boolean(true))
        let newest = try (running["newest"]?.string).orThrow()
        #expect(await server.writes("newest=\(newest)"))
        #expect(await server.terminate() == 0)
        #expect(try await self.admin("audit", "verify", "--last", newest).exitCode == 0)
        let bytes = try DurableFile.read(self.file, atMost: 1 << 20)
        let content = String(decoding: bytes, as: UTF8.self)
        for secret in [code, text, try other.deletionCode.orThrow().grouped] {
            #expect(!content.contains(secret) && !server.output.contains(secret))
        }
        // A log that was cut by the entry of the stop and the one before it, and one that was changed.
        let lines = content.split(separator: "\n", omittingEmptySubsequences: true)
        try DurableFile.write(Array((lines.dropLast(2).joined(separator: "\n") + "\n").utf8), to: self.file)
        #expect(try await self.admin("audit", "verify").exitCode == 0)
        let cut = try await self.admin("audit", "verify", "--last", newest)
        #expect(cut.exitCode == 65 && cut.output.contains("the log was cut"), "\(cut.output)")
        try DurableFile.write(Array(content.replacing("revoke wallet", with: "status       ").utf8), to: self.file)
        for command in ["verify", "show"] {
            let changed = try await self.admin("audit", command)
            #expect(changed.exitCode == 65 && changed.output.contains("altered"), "\(changed.output)")
        }
        let refused = try await ServerProcess.run("remote-pin-server", ["serve", self.lab.lab.path])
        #expect(refused.exitCode == 79 && refused.output.contains("audit.file"), "\(refused.output)")
        #expect(refused.output.contains("`remote-pin-server admin audit verify` shows how far"))
    }

    @Test("a log that is cut under the server stops it at the next entry, with the lengths and the way out")
    func cutWhileServing() async throws {
        let server = try await self.lab.start()
        let wallet = try await self.lab.register(pin: "135790")
        let whole = try DurableFile.read(self.file, atMost: 1 << 20)
        try FileHandle(forUpdating: URL(fileURLWithPath: self.file)).truncate(atOffset: 200)
        #expect(try await self.admin("revoke", "wallet", "\(wallet.walletID)").exitCode != 0)
        #expect(await server.ended() == 79)
        #expect(server.output.contains("has 200 bytes, but \(whole.count) were written"), "\(server.output)")
        #expect(try DurableFile.read(self.file, atMost: 1 << 20) == Array(whole.prefix(200)))
        let refused = try await ServerProcess.run("remote-pin-server", ["serve", self.lab.lab.path])
        #expect(refused.exitCode == 79, "\(refused.output)")
        try DurableFile.write(whole, to: self.file)
        let again = try await self.lab.start()
        #expect(try await self.admin("revoke", "wallet", "\(wallet.walletID)").exitCode == 0)
        #expect(await again.terminate() == 0)
    }

    @Test("after a lab's clock was advanced, the entries have its new time")
    func labTime() async throws {
        let server = try await self.lab.start()
        #expect(try await self.admin("clock", "advance", "60d").exitCode == 0)
        let shown = try await self.json("audit", "show")
        let times = try (shown["entries"]?.array).orThrow().compactMap { $0["time"]?.string }
        let months = times.map { $0.prefix(7) }
        #expect(times.count > 2 && months.first != months.last, "\(times)")
        #expect(await server.terminate() == 0)
    }

    @Test("a start that cannot listen leaves no entry")
    func failedStart() async throws {
        #expect(await (try self.lab.start()).terminate() == 0)
        let before = try DurableFile.read(self.file, atMost: 1 << 20)
        // An address for documentation (RFC 5737), which no machine has.
        let refused = try await ServerProcess.run(
            "remote-pin-server",
            ["serve", self.lab.lab.path, "--listen.address", "192.0.2.1:7400"]
        )
        #expect(refused.exitCode == 69 && refused.output.contains("`listen.address`"), "\(refused.output)")
        #expect(try DurableFile.read(self.file, atMost: 1 << 20) == before)
        #expect(await (try self.lab.start()).terminate() == 0)
        let entries = try DurableFile.read(self.file, atMost: 1 << 20).dropFirst(before.count)
        #expect(entries.split(separator: 0x0A).count == 2, "the start and the stop")
    }

    @Test("a log service receives each entry of the audit log, up to the stop; an absent service stops nothing")
    func export() async throws {
        let socket = "\(self.lab.folder)/log"
        let environment = [
            "REMOTE_PIN_AUDIT_EXPORT": "syslog", "REMOTE_PIN_AUDIT_EXPORT_SOCKET": socket,
            "REMOTE_PIN_OBSERVATION_LISTEN": "127.0.0.1:0", "REMOTE_PIN_LOG_FILE": "none",
        ]
        let receiver = try DatagramReceiver(socket)
        let server = try await self.lab.start(environment)
        let wallet = try await self.lab.register(pin: "135790")
        #expect(try await self.admin("revoke", "wallet", "\(wallet.walletID)").exitCode == 0)
        #expect(await server.terminate() == 0)
        let lines = String(decoding: try DurableFile.read(self.file, atMost: 1 << 20), as: UTF8.self)
            .split(separator: "\n")
        try #require(lines.count > 3)
        for line in lines {
            let message = await receiver.next()
            #expect(message.hasPrefix("<85>remote-pin-audit[") && message.hasSuffix("]: @cee:\(line)"), "\(message)")
        }

        try DurableFile.remove(socket)
        let again = try await self.lab.start(environment)
        let other = try await self.lab.register(pin: "135790")
        #expect(try await self.admin("revoke", "wallet", "\(other.walletID)").exitCode == 0)
        let failed = "remote_pin_audit_exports_total{outcome=\"failed\"}"
        #expect(try #require(try await ObservedServer(again).value(failed)) >= 3)
        #expect(again.output.contains("audit entries are not exported"))
        let last = try DatagramReceiver(socket)
        #expect(await again.terminate() == 0)
        #expect(await last.next().contains("\"event\":\"stopped\""))
        #expect(again.output.contains("audit entries are exported again"))
    }

    @Test("a verification needs a mark of the server's log and finds a cut; its time and that of a backup are exported")
    func timers() async throws {
        let environment = LabUnderTest.sixteenAttempts.merging(["REMOTE_PIN_OBSERVATION_LISTEN": "127.0.0.1:0"]) { $1 }
        let times = ["remote_pin_backup_timestamp_seconds", "remote_pin_audit_verified_timestamp_seconds"]
        func verify(_ log: String) async throws -> ProgramRun {
            let path = "\(self.lab.folder)/server.log"
            try log.write(toFile: path, atomically: true, encoding: .utf8)
            return try await self.admin("audit", "verify", "--last-from", path, "--record")
        }
        var server = try await self.lab.start(environment)
        for time in times { #expect(try await ObservedServer(server).value(time) == nil) }
        let backup = ["backup", "\(self.lab.folder)/one.backup", "--lab", self.lab.lab.path]
        #expect(try await ServerProcess.run("remote-pin-server", backup).exitCode == 0)
        let none = try await verify("a log without marks\n")
        #expect(none.exitCode == 65 && none.output.contains("no mark"), "\(none.output)")
        #expect(try await ObservedServer(server).value(times[1]) == nil)
        let intact = try await verify(server.output)
        #expect(intact.exitCode == 0, "\(intact.output)")
        let now = Date().timeIntervalSince1970
        for time in times {
            let value = try await ObservedServer(server).value(time)
            #expect(value.map { abs($0 - now) < 600 } == true, "\(time) \(value ?? 0)")
        }
        let before = try await ObservedServer(server).value(times[0])
        #expect(await server.terminate() == 0)
        let log = server.output
        // The time of the backup is in the audit log, so a restart keeps it, to the second of its entry.
        server = try await self.lab.start(environment)
        let after = try await ObservedServer(server).value(times[0])
        #expect(before.flatMap { before in after.map { abs($0 - before) < 60 } } == true)
        #expect(await server.terminate() == 0)
        let piped = try await ServerProcess.run(
            "/bin/sh",
            ["-c", "exec \"$0\" admin audit verify --last-from - --lab \"$1\" <\"$2\""]
                + [Programs.path("remote-pin-server"), self.lab.lab.path, "\(self.lab.folder)/server.log"]
        )
        #expect(piped.exitCode == 0, "\(piped.output)")

        let stamp = self.file + ".verified"
        try DurableFile.remove(stamp)
        let lines = try String(contentsOfFile: self.file, encoding: .utf8).split(separator: "\n")
        let first = lines.prefix(2).joined(separator: "\n") + "\n"
        try first.write(toFile: self.file, atomically: false, encoding: .utf8)
        let cut = try await verify(log)
        #expect(cut.exitCode == 65 && cut.output.contains("the log was cut"), "\(cut.output)")
        #expect(!DurableFile.exists(stamp))
    }

    @Test("each entry is one row of the table, with a mark if it is shortened; JSON has all of it")
    func table() async throws {
        let server = try await self.lab.start()
        let rules = ["..1.2=block", "1.2..1.4=recommend", "1.4..2.0=notify"]
        #expect(try await self.admin("update-policy", "set", "android", rules[0], rules[1], rules[2]).exitCode == 0)
        let shown = try await self.admin("audit", "show", "--event", "update-policy set")
        let rows = shown.output.split(separator: "\n")
        #expect(shown.exitCode == 0 && rows.count == 3, "\(shown.output)")
        for row in rows.dropFirst() {
            #expect(row.contains("; ") && row.contains("…  "), "\(shown.output)")
        }
        let entries = try await self.json("audit", "show", "--event", "update-policy set")["entries"]?.array ?? []
        #expect(entries.count == 2 && entries.allSatisfy { $0["detail"]?.string?.contains("\n") == true })
        #expect(await server.terminate() == 0)
    }

    @Test("after a kill at any moment every revoked wallet has an audit entry")
    func killed() async throws {
        var random = SeededRandom(for: "audit kills")
        for _ in 0..<10 {
            let server = try await self.lab.start()
            var wallets: [TestWallet] = []
            for _ in 0..<6 { wallets.append(try await self.lab.register(pin: "135790")) }
            let sessions = try await [wallets[0].openSession(), wallets[1].openSession()]
            let (lab, named) = (self.lab.lab.path, "\(wallets[5].walletID)")
            let moment = EventTrigger(after: .random(in: 1...8, using: &random)) { server.send(SIGKILL) }
            await withTaskGroup { group in
                for session in sessions {
                    group.addTask {
                        moment.passes()
                        _ = await session.connection.answer(.reportWipe)
                        moment.passes()
                    }
                }
                for wallet in wallets[2...4] {
                    group.addTask {
                        guard let code = wallet.deletionCode, let portal = try? await wallet.server.connect() else {
                            return
                        }
                        moment.passes()
                        _ = await portal.answer(.revokeWithCode(code.characters))
                        moment.passes()
                    }
                }
                group.addTask {
                    moment.passes()
                    let arguments = ["admin", "revoke", "wallet", named, "--lab", lab]
                    _ = try? await ServerProcess.run("remote-pin-server", arguments)
                    moment.passes()
                }
            }
            await server.kill()
            let again = try await self.lab.start()
            let revoked = try await self.json("wallet", "list", "--state", "revoked")
            let record = try await self.json("audit", "show", "--limit", "100000")
            let begun = Set(
                (record["entries"]?.array ?? []).filter { $0["phase"]?.string == "begun" }
                    .flatMap { $0["wallets"]?.array ?? [] }.compactMap(\.string)
            )
            for wallet in revoked["wallets"]?.array ?? [] {
                #expect(begun.contains(try (wallet["wallet"]?.string).orThrow()))
            }
            #expect(await again.terminate() == 0)
        }
        #expect(try await self.json("audit", "verify")["intact"] == .boolean(true))
    }

    @Test("a reload reports for each part whether the old one stays, and the server uses the valid ones")
    func reload() async throws {
        let server = try await self.lab.start()
        let observed = try ObservedServer(server)
        func times() async throws -> [Double?] {
            var times: [Double?] = []
            for outcome in ["done", "refused"] {
                times.append(try await observed.value("remote_pin_reload_timestamp_seconds{outcome=\"\(outcome)\"}"))
            }
            return times
        }
        let start = try await times()
        #expect(start[0] != nil && start[1] == nil)
        #expect(try await self.admin("reload").exitCode == 0)
        let certificate = self.lab.lab.certificateFile
        let good = try DurableFile.read(certificate, atMost: 1 << 20)
        try DurableFile.write(Array("nonsense".utf8), to: certificate)
        let bad = try await self.admin("reload")
        #expect(bad.exitCode == 74 && bad.output.contains("the old one stays: `tls.certificate`"), "\(bad.output)")
        #expect(bad.output.contains("vault keys") && bad.output.contains("status list"))
        let refused = try await times()
        #expect(try refused[1].orThrow() >= refused[0].orThrow())
        _ = try await self.lab.register(pin: "135790")
        try DurableFile.write(good, to: certificate)
        #expect(try await self.admin("reload").exitCode == 0)
        let mended = try await times()
        #expect(try mended[0].orThrow() >= refused[1].orThrow() && mended[1] == refused[1])
        #expect(try await observed.value("remote_pin_reloads_total{outcome=\"done\"}") == 2)
        #expect(try await observed.value("remote_pin_reloads_total{outcome=\"refused\"}") == 1)
        #expect(await server.terminate() == 0)
    }

    @Test("status, sessions, wallets and the log level are shown, and the level is set")
    func operation() async throws {
        let server = try await self.lab.start()
        let wallet = try await self.lab.register(pin: "135790")
        let session = try await wallet.openSession()
        _ = try await session.check("135790")
        let status = try await self.json("status")
        #expect(status["sessions"] == .integer(1) && status["wallets"]?["open"] == .integer(1))
        #expect(status["pins"]?["valid"] == .integer(1) && status["vaultKeys"]?["active"] == .integer(1))
        #expect(status["certificateExpiresAt"]?.string?.isEmpty == false)
        let sessions = try await self.json("sessions")
        #expect(sessions["sessions"]?.array.first?["instructions"] == .integer(1))
        let list = try await self.json("wallet", "list", "--platform", "android", "--state", "open")
        #expect(list["wallets"]?.array.first?["wallet"]?.string == "\(wallet.walletID)")
        #expect(try await self.json("wallet", "list", "--platform", "ios")["wallets"]?.array.isEmpty == true)
        for command in [["status"], ["sessions"], ["wallet", "list"], ["log-level"]] {
            let run = try await ServerProcess.run(
                "remote-pin-server",
                ["admin"] + command + ["--lab", self.lab.lab.path]
            )
            #expect(run.exitCode == 0 && run.output.contains("\n"), "\(run.output)")
        }
        #expect(!server.output.contains("connected"))
        #expect(try await self.json("log-level", "debug")["changed"] == .boolean(true))
        _ = try await self.lab.server.connect()
        #expect(await server.writes("connected"))
        #expect(try await self.json("log-level", "debug")["changed"] == .boolean(false))
        #expect(await server.terminate() == 0)
    }

    @Test("members of the group can open the socket, and a group that does not exist is named")
    func group() async throws {
        var environment = LabUnderTest.sixteenAttempts
        environment["REMOTE_PIN_ADMIN_GROUP"] = "no-such-group"
        let settings = environment
        let refused = await #expect(throws: ServerProcess.NotReady.self) { try await self.lab.start(settings) }
        #expect(refused?.output.contains("no-such-group") == true)
        environment["REMOTE_PIN_ADMIN_GROUP"] = "\(getegid())"
        let server = try await self.lab.start(environment)
        #expect(try await self.admin("status").exitCode == 0)
        #expect(await server.terminate() == 0)
    }

    @Test(
        "while the audit log's disk is full commands are rejected without effect; with free space they work again",
        .enabled(if: SmallDisk.isPermitted, "small file systems can only be mounted by root")
    )
    func fullDisk() async throws {
        let folder = "\(self.lab.folder)/audit"
        try DurableFile.makeFolder(folder)
        let disk = try SmallDisk(at: folder)
        var environment = LabUnderTest.sixteenAttempts
        environment["REMOTE_PIN_AUDIT_FILE"] = "\(folder)/audit.log"
        let server = try await self.lab.start(environment)
        let wallet = try await self.lab.register(pin: "135790")
        let session = try await wallet.openSession()
        disk.fill()
        // The rest of the last page has room for some entries of commands that only read.
        var run = try await self.admin("status")
        while run.exitCode == 0 { run = try await self.admin("status") }
        #expect(run.exitCode == 69 && run.output.contains("audit log"), "\(run.output)")
        let list = Array(repeating: "\(wallet.walletID)", count: 1)
        let revoked = try await self.admin("revoke", "wallet", list[0])
        #expect(revoked.exitCode == 69 && revoked.output.contains("nothing was done"), "\(revoked.output)")
        #expect(try await session.check("135790") == wallet.unlockShare.asValid)
        try disk.clear()
        #expect(try await self.admin("revoke", "wallet", list[0]).exitCode == 0)
        #expect(await server.terminate() == 0)
        let verified = try await self.admin("audit", "verify", "--file", "\(folder)/audit.log")
        #expect(verified.exitCode == 0, "\(verified.output)")
    }
}
