import Foundation
import Glibc
import HostSystem
import Lab
import LabFiles
import TestSupport
import Testing
import Vocabulary
import Wire

@Suite("A database that lacks commits, with the real programs")
struct EpochProgramTests {
    private static let pin = "135790"
    private static let wrong = "864209"

    private let database: DatabaseUnderTest
    private let lab: LabUnderTest

    init() async throws {
        self.database = try DatabaseUnderTest()
        self.lab = try await LabUnderTest()
        #expect(try await self.store("init").exitCode == 0)
    }

    private func audit(_ name: String) -> String { "\(self.lab.folder)/\(name).audit" }
    private func socket(_ name: String) -> String { "\(self.lab.folder)/\(name).sock" }

    /// Settings with the lab's attempt policy of several rounds.
    private func settings(_ name: String) throws -> [String: String] {
        let own = [
            "REMOTE_PIN_ADMIN_SOCKET": self.socket(name), "REMOTE_PIN_PORTAL_SOCKET": "none",
            "REMOTE_PIN_AUDIT_FILE": self.audit(name), "REMOTE_PIN_LOG_FILE": "none", "REMOTE_PIN_LOG_LEVEL": "notice",
        ]
        return try self.database.settings(of: name, folder: self.lab.folder).merging(own) { $1 }
    }

    /// Serves the lab as one of several servers, on the lab's last port or on a new one.
    private func start(_ name: String, onNewPort: Bool = false) async throws -> ServerProcess {
        if onNewPort { try self.lab.use(port: TestPort.next()) }
        return try await ServerProcess.start(["serve", self.lab.lab.path], environment: self.settings(name))
    }

    private func store(_ arguments: String..., as name: String = "a") async throws -> ProgramRun {
        let flags = try self.settings(name).flatMap { variable, value in
            let words = variable.dropFirst("REMOTE_PIN_".count).lowercased().split(separator: "_")
            return ["--\(words[0]).\(words.dropFirst().joined(separator: "-"))", value]
        }
        return try await ServerProcess.run("remote-pin-server", ["store"] + arguments + [self.lab.lab.path] + flags)
    }

    private func json(_ run: ProgramRun) throws -> JSONValue {
        try JSONValue(String(try run.output.split(separator: "\n").last { $0.hasPrefix("{") }.orThrow()))
    }

    private func admin(_ arguments: String..., at name: String) async throws {
        let arguments = ["admin"] + arguments + ["--socket", self.socket(name)]
        let run = try await ServerProcess.run("remote-pin-server", arguments)
        try #require(run.exitCode == 0, "\(run.output)")
    }

    /// Expects that no server starts, and returns the reason of the last one.
    @discardableResult
    private func expectNoStart(_ names: String..., line: Int = #line) async throws -> String {
        var output = ""
        for name in names {
            let refused = await #expect(throws: ServerProcess.NotReady.self, "line \(line)") {
                try await self.start(name)
            }
            output = refused?.output ?? ""
            #expect(output.contains("store epoch"), "line \(line): \(output)")
            #expect(try await self.store("status", as: name).exitCode == 79, "line \(line)")
        }
        return output
    }

    private func dump() async throws -> String {
        let file = "\(self.database.folder)/dump.sql"
        let options = ["-h", self.database.folder, "-U", "test", "-n", "remote_pin", "-f", file, "remote_pin"]
        let dump = try await ServerProcess.run("/usr/bin/pg_dump", options)
        try #require(dump.exitCode == 0, "\(dump.output)")
        return file
    }

    private func restore(_ dump: String) async throws {
        try await self.database.run("drop schema remote_pin cascade")
        let text = String(decoding: try DurableFile.read(dump, atMost: 1 << 24), as: UTF8.self)
        // Newer ones contain commands that only a newer psql knows.
        try await self.database.run(
            text.split(separator: "\n").filter { !$0.hasPrefix("\\restrict") && !$0.hasPrefix("\\unrestrict") }
                .joined(separator: "\n"),
            fromFile: "\(self.database.folder)/restored.sql"
        )
    }

    @Test("a restored dump is not served until an epoch charges each wallet and repeats what all logs record")
    func restoredDump() async throws {
        let first = try await self.start("a", onNewPort: true)
        let second = try await self.start("b", onNewPort: true)
        let (wallet, revoked) = (
            try await self.lab.register(pin: Self.pin), try await self.lab.register(pin: Self.pin)
        )
        let phone = CommandLinePhone(in: self.lab)
        try await phone.setUp(pin: Self.pin)
        #expect(try await phone.run("unlock", pins: [Self.pin]).exitCode == 0)
        _ = try await wallet.openSession().check(Self.pin)
        let dump = try await self.dump()

        for _ in 0..<2 { _ = try await wallet.openSession().check(Self.wrong) }
        #expect(try await phone.run("unlock", pins: [Self.pin]).exitCode == 0)
        try await self.admin("revoke", "wallet", "\(revoked.walletID)", at: "b")
        let early = try await self.store("epoch", "--yes", "--audit", self.audit("b"))
        #expect(early.exitCode == 69 && early.output.contains("servers are connected"), "\(early.output)")
        #expect(await first.terminate() == 0)
        await second.kill()
        try await self.restore(dump)

        #expect(try await self.expectNoStart("a", "b").contains("restored from a dump"))
        let incomplete = try await self.store("epoch", "--yes")
        #expect(incomplete.exitCode == 77 && incomplete.output.contains("server b: its audit log is missing"))
        for rule in ["trust", "charge-one"] {
            let mild = try await self.store("epoch", "--yes", "--epoch", rule, "--audit", self.audit("b"))
            let reason = "\(rule) charges too little; use --epoch strict."
            #expect(mild.exitCode == 77 && mild.output.contains(reason), "\(mild.output)")
        }
        let dry = try await self.store("epoch", "--dry-run", "--json", "--audit", self.audit("b"))
        #expect(dry.exitCode == 0, "\(dry.output)")
        #expect(try self.json(dry)["isOpened"] == .boolean(false))
        let asked = try await self.store("epoch", "--audit", self.audit("b"))
        #expect(asked.exitCode == 64 && asked.output.contains("confirmed commits"), "\(asked.output)")
        try await self.expectNoStart("a", "b")

        let opened = try await self.store("epoch", "--yes", "--json", "--audit", self.audit("b"))
        #expect(opened.exitCode == 0, "\(opened.output)")
        let report = try self.json(opened)
        #expect(report["epoch"] == .integer(2) && report["endedAgain"] == .integer(1), "\(opened.output)")
        #expect(report["lostCommits"] != .integer(0) && report["lostCommits"] != nil, "\(opened.output)")

        for name in ["a", "b"] {
            let server = try await self.start(name)
            let session = try await wallet.openSession()
            #expect(session.pinState == .open(attemptsLeft: 4, finalRound: true), "at \(name)")
            let ended = try await revoked.openSession().opening
            guard case .revoked(Revocation(reason: .wallet, mayRegisterAnew: true)) = ended else {
                Issue.record("a revoked wallet can be used again at \(name)")
                return
            }
            // The wallet kept a receipt with a higher number than the restored one.
            let unlock = try await phone.run("unlock", pins: [Self.pin])
            #expect(unlock.exitCode == 0 && !unlock.output.contains("receipt"), "\(unlock.output)")
            #expect(await server.terminate() == 0)
        }
    }

    @Test("a restarted server remembers its confirmed commits without its mark, and stops all servers")
    func rememberedByLog() async throws {
        let first = try await self.start("a", onNewPort: true)
        let wallet = try await self.lab.register(pin: Self.pin)
        for _ in 0..<9 { _ = try await wallet.openSession().check(Self.pin) }
        #expect(await first.terminate() == 0)
        // As after the recovery of a physical backup, which has the same place. The last commit came after the log's
        // last entry, so the log does not show it.
        try await self.database.run("update remote_pin.commit_numbers set number = number - 2 where lane = 'judging'")
        let mark = "\(self.audit("a")).commits"
        try FileManager.default.moveItem(atPath: mark, toPath: "\(mark).aside")
        try await self.expectNoStart("a", "b")

        // The failed start did not create a mark with the database's numbers, which would show that the log is whole.
        let alone = try await self.store("epoch", "--yes", "--epoch", "charge-one")
        #expect(alone.exitCode == 77 && alone.output.contains("may be an older copy"), "\(alone.output)")
        try DurableFile.write(Array("remote-pin commits 1\n".utf8), to: mark)
        let damaged = try await self.store("epoch", "--yes", "--epoch", "charge-one")
        #expect(damaged.exitCode == 77 && damaged.output.contains("\(mark) is damaged"), "\(damaged.output)")
        try DurableFile.remove(mark)
        try FileManager.default.moveItem(atPath: "\(mark).aside", toPath: mark)
        try await self.database.run("update remote_pin.commit_numbers set number = number + 1 where lane = 'judging'")
        let trust = try await self.store("epoch", "--yes", "--epoch", "trust")
        #expect(trust.exitCode == 77 && trust.output.contains("lacks 1 confirmed commit,"), "\(trust.output)")
        let opened = try await self.store("epoch", "--yes", "--json", "--epoch", "charge-one")
        #expect(opened.exitCode == 0, "\(opened.output)")
        let server = try await self.start("a")
        #expect(try await wallet.openSession().pinState == .open(attemptsLeft: 3, finalRound: false))
        #expect(await server.terminate() == 0)
    }

    /// Copies a server's log and the mark beside it, and returns the path of the copy.
    private func copyLog(of name: String) throws -> String {
        let copy = self.audit("copy")
        for suffix in ["", ".commits"] {
            try FileManager.default.copyItem(atPath: self.audit(name) + suffix, toPath: copy + suffix)
        }
        return copy
    }

    @Test(
        "a server that was cut off while an epoch was opened restarts, or stops all servers if it lost more commits",
        arguments: [true, false]
    )
    func cutOff(isKnown: Bool) async throws {
        let first = try await self.start("a", onNewPort: true)
        let second = try await self.start("b", onNewPort: true)
        let wallet = try await self.lab.register(pin: Self.pin)
        var copy = isKnown ? "" : try self.copyLog(of: "b")
        for _ in 0..<3 { _ = try await wallet.openSession().check(Self.pin) }
        // A stopped server makes no later commit.
        second.send(SIGSTOP)
        if isKnown { copy = try self.copyLog(of: "b") }
        #expect(await first.terminate() == 0)
        // As after a recovery, while the server cannot reach the database.
        try await self.database.run(
            "select pg_terminate_backend(pid, 60000) from pg_stat_activity where usename = 'remote_pin'",
            "update remote_pin.commit_numbers set number = number - 2 where server = 'b' and lane = 'judging'"
        )
        let opened = try await self.store("epoch", "--yes", "--audit", copy)
        #expect(opened.exitCode == 0, "\(opened.output)")
        second.send(SIGCONT)
        if isKnown {
            #expect(await second.ended() == 69)
            #expect(second.output.contains("another epoch was opened"), "\(second.output)")
        } else {
            #expect(await second.writes("lacks commits that it has confirmed"))
            try await self.expectNoStart("a")
            await second.kill()
            let again = try await self.store("epoch", "--yes", "--json", "--audit", self.audit("b"))
            #expect(again.exitCode == 0, "\(again.output)")
            #expect(try self.json(again)["lostCommits"] != .integer(0), "\(again.output)")
        }
        #expect(await (try self.start("b")).terminate() == 0)
    }

    @Test("a server does not start if its log shows commits that no epoch accounts for, even without its mark")
    func cutOffByLog() async throws {
        #expect(await (try self.start("a", onNewPort: true)).terminate() == 0)
        let second = try await self.start("b", onNewPort: true)
        let wallet = try await self.lab.register(pin: Self.pin)
        let copy = try self.copyLog(of: "b")
        try await self.database.run("create table public.marks as table remote_pin.audit_marks")
        for _ in 0..<3 { _ = try await wallet.openSession().check(Self.pin) }
        #expect(await second.terminate() == 0)
        try await self.database.run(
            "update remote_pin.commit_numbers set number = number - 2 where server = 'b' and lane = 'judging'",
            "delete from remote_pin.audit_marks",
            "insert into remote_pin.audit_marks select * from public.marks"
        )
        let opened = try await self.store("epoch", "--yes", "--audit", copy)
        #expect(opened.exitCode == 0, "\(opened.output)")
        try DurableFile.remove("\(self.audit("b")).commits")
        #expect(try await self.expectNoStart("b").contains("records generation"))
    }

    @Test("a server whose log is lost begins a new one, and its name and the loss are on record")
    func withoutLog() async throws {
        for name in ["a", "b"] { #expect(await (try self.start(name)).terminate() == 0) }
        try await self.restore(try await self.dump())
        for file in [self.audit("b"), "\(self.audit("b")).commits"] { try DurableFile.remove(file) }
        let wrong = try await self.store("epoch", "--yes", "--without", "a", "--without", "b")
        #expect(wrong.exitCode == 77 && wrong.output.contains("leave --without a out"), "\(wrong.output)")
        let mild = try await self.store("epoch", "--yes", "--epoch", "charge-one", "--without", "b")
        #expect(mild.exitCode == 77 && mild.output.contains("unknown"), "\(mild.output)")
        #expect(try await self.store("epoch", "--yes", "--without", "b").exitCode == 0)
        for name in ["a", "b"] { #expect(await (try self.start(name)).terminate() == 0) }
        let log = String(decoding: try DurableFile.read(self.audit("a"), atMost: 1 << 20), as: UTF8.self)
        #expect(log.contains("epoch 2, strict, an unknown number of commits lost, without the logs of b"), "\(log)")
    }

    @Test("an epoch can be opened again after it was killed right after it set its server's damaged log aside")
    func setAside() async throws {
        #expect(await (try self.start("a", onNewPort: true)).terminate() == 0)
        try await self.restore(try await self.dump())
        var log = try DurableFile.read(self.audit("a"), atMost: 1 << 20)
        log[log.count - 20] ^= 1
        try DurableFile.write(log, to: "\(self.audit("a")).before-epoch-2")
        try DurableFile.remove(self.audit("a"))
        let opened = try await self.store("epoch", "--yes", "--without", "a")
        #expect(opened.exitCode == 0, "\(opened.output)")
        #expect(await (try self.start("a")).terminate() == 0)
    }

    @Test("an older copy of an audit log is rejected if its server stopped cleanly and has continued since")
    func olderLog() async throws {
        #expect(await (try self.start("a", onNewPort: true)).terminate() == 0)
        let dump = try await self.dump()
        let (log, copy) = (self.audit("a"), "\(self.lab.folder)/older")
        try FileManager.default.copyItem(atPath: log, toPath: copy)
        let second = try await self.start("a")
        let wallet = try await self.lab.register(pin: Self.pin)
        for _ in 0..<3 { _ = try await wallet.openSession().check(Self.wrong) }
        #expect(await second.terminate() == 0)
        try DurableFile.remove(log)
        try FileManager.default.copyItem(atPath: copy, toPath: log)
        try await self.restore(dump)

        // The mark shows no loss, but the epoch would account for all commits of this server.
        try await self.database.run(
            "insert into remote_pin.commit_numbers (server, lane, number) "
                + "values ('a', 'judging', 1000), ('a', 'transactions', 1000) "
                + "on conflict (server, lane) do update set number = excluded.number"
        )
        let complete = try await self.store("epoch", "--yes", "--epoch", "trust", "--without", "a")
        #expect(complete.exitCode == 77 && complete.output.contains("unknown"), "\(complete.output)")
        try await self.restore(dump)

        let older = try await self.store("epoch", "--yes")
        #expect(older.exitCode == 77 && older.output.contains("later commits than the log"), "\(older.output)")
        try DurableFile.remove("\(log).commits")
        let alone = try await self.store("epoch", "--yes", "--epoch", "trust")
        #expect(alone.exitCode == 77 && alone.output.contains("may be an older copy"), "\(alone.output)")
        let mild = try await self.store("epoch", "--yes", "--epoch", "trust", "--without", "a")
        #expect(mild.exitCode == 77 && mild.output.contains("unknown"), "\(mild.output)")
        #expect(try await self.store("epoch", "--yes", "--without", "a").exitCode == 0)
    }

    @Test("a change of the policy is rejected, and not counted, in a database that lacks commits")
    func policy() async throws {
        let first = try await self.start("a", onNewPort: true)
        _ = try await self.lab.register(pin: Self.pin)
        #expect(await first.terminate() == 0)
        try await self.database.run(
            "update remote_pin.commit_numbers set number = number - 3 where lane = 'transactions'"
        )
        let (mark, kept) = ("\(self.audit("a")).commits", "\(self.lab.folder)/kept")
        try FileManager.default.moveItem(atPath: mark, toPath: kept)
        func expectNoChange(by place: String) async throws {
            let run = try await self.store("policy", "set", "--yes", "--pin.attempts-per-round", "3")
            #expect(run.exitCode == 79 && run.output.contains("store epoch"), "by \(place): \(run.output)")
        }
        try await expectNoChange(by: "the audit log")
        try FileManager.default.moveItem(atPath: kept, toPath: mark)
        // Only the last commit is lost, which came after the log's last entry. No server has noticed the loss yet.
        try await self.database.run(
            "update remote_pin.commit_numbers set number = number + 2 where lane = 'transactions'",
            "update remote_pin.facts set lost_commits = false"
        )
        try await expectNoChange(by: "the mark")
        let dry = try await self.store("epoch", "--dry-run", "--json")
        #expect(try self.json(dry)["lostCommits"] == .integer(1), "\(dry.output)")
    }

    @Test("a server that takes another name, or the log of another server, does not start")
    func renamed() async throws {
        #expect(await (try self.start("a")).terminate() == 0)
        try FileManager.default.copyItem(atPath: self.audit("a"), toPath: self.audit("b"))
        let log = await #expect(throws: ServerProcess.NotReady.self) { try await self.start("b") }
        #expect(log?.output.contains("is the log of the server a") == true, "\(log?.output ?? "")")
        try FileManager.default.copyItem(atPath: "\(self.audit("a")).commits", toPath: "\(self.audit("b")).commits")
        let mark = await #expect(throws: ServerProcess.NotReady.self) { try await self.start("b") }
        #expect(mark?.output.contains("commits of a server named a") == true, "\(mark?.output ?? "")")
        #expect(await (try self.start("a")).terminate() == 0, "the other servers serve on")
    }
}
