import Glibc
import HostSystem
import LabFiles
import Secrets
import TestSupport
import Testing
import Transport
import Vocabulary
import Wire

@Suite("Servers that share a PostgreSQL database, with the real programs")
struct SharedDatabaseProgramTests {
    private static let pin = "135790"
    private static let wrong = "864209"

    private let database: DatabaseUnderTest
    private let lab: LabUnderTest

    init() async throws {
        self.database = try DatabaseUnderTest()
        self.lab = try await LabUnderTest()
    }

    private func program(_ arguments: String..., flags: [String: String] = [:]) async throws -> ProgramRun {
        try await self.program(arguments, flags: flags)
    }

    private func program(_ arguments: [String], flags: [String: String]) async throws -> ProgramRun {
        let merged = try self.database.flags(of: "a", folder: self.lab.folder).merging(flags) { $1 }
        return try await ServerProcess.run(
            "remote-pin-server",
            arguments + [self.lab.lab.path] + merged.flatMap { ["--\($0.key)", $0.value] }
        )
    }

    /// Serves the lab as one of several servers, with a separate port, socket and audit log.
    private func start(_ name: String) async throws -> (process: ServerProcess, server: TestServer) {
        try self.lab.use(port: TestPort.next())
        let own = [
            "REMOTE_PIN_ADMIN_SOCKET": self.socket(name), "REMOTE_PIN_PORTAL_SOCKET": "none",
            "REMOTE_PIN_AUDIT_FILE": "\(self.lab.folder)/\(name).audit",
        ]
        let settings = try self.database.settings(of: name, folder: self.lab.folder)
        let environment = LabUnderTest.sixteenAttempts.merging(own) { $1 }.merging(settings) { $1 }
        let process = try await ServerProcess.start(["serve", self.lab.lab.path], environment: environment)
        return (process, try self.lab.server)
    }

    private func socket(_ name: String) -> String { "\(self.lab.folder)/\(name).sock" }

    private static func session(of wallet: TestWallet, at server: TestServer) async throws -> TestSession {
        let connection = try await server.greet()
        let call = try await wallet.sessionCall(on: connection)
        let result = try await connection.call(.openSession(call), timeout: TestWallet.patience)
        guard case .openSession(let opening) = result else { throw UnexpectedAnswer(result) }
        return TestSession(wallet: wallet, connection: connection, opening: opening)
    }

    /// Guesses wrong; returns the number of counted attempts in the answer.
    private static func miss(_ session: TestSession) async throws -> Int {
        guard case .instruct(.wrong(let state)) = try await session.instruct(pin: Self.wrong) else { return -1 }
        return GuessingWallet.counted(state)
    }

    @Test("two servers count a wallet's guesses together, also after one of them is killed, and revoke for each other")
    func shared() async throws {
        #expect(try await self.program("store", "init").exitCode == 0)
        var (first, atFirst) = try await self.start("a")
        let (second, atSecond) = try await self.start("b")
        let wallet = try await TestWallet.register(at: atFirst, folder: self.lab.folder, pin: Self.pin)
        let sessions = [
            try await Self.session(of: wallet, at: atFirst), try await Self.session(of: wallet, at: atSecond),
        ]
        var counted: [Int] = []
        for number in 0..<4 { counted.append(try await Self.miss(sessions[number % 2])) }
        #expect(counted == [1, 2, 3, 4])
        async let left = Self.miss(sessions[0])
        async let right = Self.miss(sessions[1])
        #expect(Set(try await [left, right]) == [5, 6], "attempts at the same time are both counted")

        await first.kill()
        #expect(try await Self.miss(sessions[1]) == 7)
        (first, atFirst) = try await self.start("a")
        let again = try await Self.session(of: wallet, at: atFirst)
        #expect(again.pinState.map(GuessingWallet.counted) == 7)
        #expect(
            VerdictSummary(try await again.instruct(pin: Self.pin))
                == .valid(share: wallet.unlockShare.exposedBytes().hex)
        )
        #expect(try await Self.miss(sessions[1]) == 1, "the right PIN at one server resets the count of the other")

        let phone = CommandLinePhone(in: self.lab)
        try await phone.setUp(pin: Self.pin)
        #expect(try await phone.run("unlock", pins: [Self.wrong]).exitCode == 10)
        #expect(try await phone.run("unlock", pins: [Self.pin]).exitCode == 0)

        let names = ["\"name\": \"a\"", "\"name\":\"a\""]
        var status = try await self.admin("status", at: "b")
        // The other server sees the new lease at its next renewal.
        for _ in 0..<100 where !names.contains(where: { status.output.contains($0) }) {
            status = try await self.admin("status", at: "b")
        }
        #expect(status.exitCode == 0, "\(status.output)")
        #expect(try JSONValue(status.output)["cluster"]?["server"]?.string == "b", "\(status.output)")
        #expect(names.contains { status.output.contains($0) }, "\(status.output)")
        let listed = try await self.admin("sessions", at: "a")
        #expect(try JSONValue(listed.output)["server"]?.string == "a", "\(listed.output)")
        #expect(try JSONValue(listed.output)["cluster"]?["servers"]?.array.count == 2, "\(listed.output)")
        let flags = try await self.admin("flags", "list", at: "b")
        #expect(try JSONValue(flags.output)["server"]?.string == "b", "\(flags.output)")
        let record = ["wallet", "show", "\(wallet.walletID)"]
        for command in [["sessions"], ["flags", "list"], record] {
            let run = try await ServerProcess.run(
                "remote-pin-server",
                ["admin"] + command + ["--socket", self.socket("a")]
            )
            #expect(run.output.contains("answered by the server a"), "\(run.output)")
            #expect(run.output.contains("on the machines of the others: b.") == (command == ["sessions"]))
            #expect(run.output.contains(" now at a\n") == (command == record))
        }
        let shown = try await self.admin("wallet", "show", "\(wallet.walletID)", at: "a")
        #expect(try JSONValue(shown.output)["pin"]?["failures"] == .integer(1), "\(shown.output)")
        #expect(try JSONValue(shown.output)["server"]?.string == "a", "\(shown.output)")
        let revoked = try await self.admin("revoke", "wallet", "\(wallet.walletID)", at: "b")
        #expect(revoked.exitCode == 0, "\(revoked.output)")
        #expect(try JSONValue(revoked.output)["server"]?.string == "b", "\(revoked.output)")
        let acknowledged = try JSONValue(revoked.output)["servers"]?["acknowledged"]
        #expect(acknowledged == .array([.string("a"), .string("b")]), "\(revoked.output)")
        // The other server releases nothing to a session that was open before.
        #expect(try await again.check(Self.pin) == .closed)
        let backup = try await self.admin("wallet", "show", "\(wallet.walletID)", at: "a")
        #expect(try JSONValue(backup.output)["state"]?.string == "revoked")

        for command in ["verify", "show"] {
            let file = ["--file", "\(self.lab.folder)/b.audit", "--lab", self.lab.lab.path]
            for (options, name) in [([], "the log of the server b\n"), (["--json"], "\"server\":\"b\"")] {
                let arguments = ["admin", "audit", command] + options + file
                let run = try await ServerProcess.run("remote-pin-server", arguments)
                #expect(run.exitCode == 0 && run.output.contains(name), "\(run.output)")
            }
        }

        // Undone by another server than the one whose log has it.
        let solution = try await self.admin("revoke", "solution", "--yes", at: "b")
        #expect(solution.exitCode == 0, "\(solution.output)")
        let restored = try await self.admin("restore", "solution", "--yes", at: "a")
        #expect(restored.exitCode == 0, "\(restored.output)")

        #expect(await first.terminate() == 0)
        // Without a clean stop, the next start compares the database with the end of the server's own audit log.
        await second.kill()
        let (third, _) = try await self.start("b")
        #expect(await third.terminate() == 0)
    }

    @Test("a second server with the name of one that serves does not start")
    func names() async throws {
        #expect(try await self.program("store", "init").exitCode == 0)
        let (first, _) = try await self.start("a")
        let second = try await self.program("serve", flags: ["audit.file": "\(self.lab.folder)/second.audit"])
        #expect(second.exitCode == 69 && second.output.contains("renews the lease of server a"), "\(second.output)")
        #expect(await first.terminate() == 0)
    }

    @Test("a server whose audit log is lost starts with a new name and a new log, and is told so")
    func lostLog() async throws {
        #expect(try await self.program("store", "init").exitCode == 0)
        let (first, _) = try await self.start("a")
        #expect(await first.terminate() == 0)
        let lost = try await self.program("serve", flags: ["audit.file": "\(self.lab.folder)/lost.audit"])
        #expect(lost.exitCode == 79 && lost.output.contains("\"Replace a server\""), "\(lost.output)")
        #expect(!lost.output.contains("remote-pin-server backup"), "\(lost.output)")
        let (second, _) = try await self.start("b")
        #expect(await second.terminate() == 0)
    }

    @Test("a server whose key another server lacks does not start, and names that server")
    func vaultKey() async throws {
        #expect(try await self.program("store", "init").exitCode == 0)
        try await self.database.run(
            """
            insert into remote_pin.leases (server, instance, program, schema_version, vault_keys, lasts_ms, renewed_at)
            values ('z', 'killed', '', 4, '', 60000, (extract(epoch from clock_timestamp()) * 1000)::bigint)
            """
        )
        let run = try await self.program("serve")
        #expect(run.exitCode == 78 && run.output.contains("these lack it: z"), "\(run.output)")
    }

    private func admin(_ arguments: String..., at name: String) async throws -> ProgramRun {
        try await ServerProcess.run(
            "remote-pin-server",
            ["admin"] + arguments + ["--json", "--socket", self.socket(name)]
        )
    }

    @Test("a server with another policy does not start; a change for all servers is on record and stops the others")
    func policy() async throws {
        #expect(try await self.program("store", "init").exitCode == 0)
        try #require(try await self.program("store", "policy").exitCode == 0)
        let audit = "\(self.lab.folder)/a.audit"
        let other = ["pin.attempts-per-round": "15", "audit.file": audit]
        let difference = "pin.attempts-per-round is 15 here, not 16"
        for command in [["serve"], ["check-config"], ["store", "status"], ["store", "policy", "show"]] {
            let run = try await self.program(command, flags: other)
            #expect(run.exitCode == 79 && run.output.contains(difference), "\(command): \(run.output)")
            #expect(run.output.contains("store policy set"), "\(command): \(run.output)")
        }
        #expect(try await self.program("doctor", flags: other).output.contains(difference))

        let (first, atFirst) = try await self.start("a")
        let (second, atSecond) = try await self.start("b")
        let wallet = try await TestWallet.register(at: atFirst, folder: self.lab.folder, pin: Self.pin)
        let session = try await Self.session(of: wallet, at: atSecond)
        #expect(try await Self.miss(session) == 1)
        let running = try await self.program("store", "policy", "set", "--yes", flags: other)
        #expect(running.exitCode == 69 && running.output.contains("in use"), "\(running.output)")
        #expect(await first.terminate() == 0)
        let asked = try await self.program("store", "policy", "set", flags: other)
        #expect(asked.exitCode == 64 && asked.output.contains("pin.attempts-per-round 16 to 15"), "\(asked.output)")
        let changed = try await self.program("store", "policy", "set", "--yes", flags: other)
        #expect(changed.exitCode == 0, "\(changed.output)")
        let entries = String(decoding: try DurableFile.read(audit, atMost: 1 << 20), as: UTF8.self)
        #expect(entries.contains("store policy set") && entries.contains("pin.attempts-per-round 16 to 15"))
        #expect(try await Self.miss(session) == -1, "a server with the old settings judges nothing")
        #expect(try await self.program("check-config", flags: other).exitCode == 0)
        #expect(try await self.program("serve", flags: ["audit.file": audit]).exitCode == 79)
        #expect(await second.terminate() == 0)
    }

    @Test("a denial on record whose row was removed is repeated, unless an operator reversed it at another server")
    func removedDenial() async throws {
        #expect(try await self.program("store", "init").exitCode == 0)
        var (first, _) = try await self.start("a")
        let (second, _) = try await self.start("b")
        for code in ["kept", "reversed"] {
            #expect(try await self.admin("revoke", "recovery-code", code, at: "a").exitCode == 80)
        }
        #expect(try await self.admin("deny-list", "remove", "reversed", at: "b").exitCode == 0)
        #expect(try await self.admin("revoke", "solution", "--yes", at: "a").exitCode == 0)
        #expect(try await self.admin("restore", "solution", "--yes", at: "b").exitCode == 0)
        await first.kill()
        try await self.database.run("delete from remote_pin.denied_recovery_codes")
        (first, _) = try await self.start("a")
        #expect(first.output.contains("a change on record was not in force and was repeated"), "\(first.output)")
        for (code, status) in [("kept", 0), ("reversed", 1)] as [(String, Int32)] {
            #expect(try await self.admin("deny-list", "show", code, at: "b").exitCode == status, "\(code)")
        }
        #expect(try await self.admin("status", at: "b").output.contains("\"solutionRevoked\":false"))

        // Another program reverses the revocation of the solution.
        #expect(try await self.admin("revoke", "solution", "--yes", at: "a").exitCode == 0)
        #expect(await first.terminate() == 0)
        try await self.database.run("update remote_pin.facts set solution_revoked = false")
        (first, _) = try await self.start("a")
        #expect(first.output.contains("a change on record was not in force and was repeated"), "\(first.output)")
        #expect(await first.terminate() == 0)
        #expect(await second.terminate() == 0)
    }

    @Test("a server of another cluster does not start, and every command that compares settings names both clusters")
    func otherCluster() async throws {
        #expect(try await self.program("store", "init", flags: ["cluster.name": "north"]).exitCode == 0)
        #expect(try await self.program("check-config", flags: ["cluster.name": "north"]).exitCode == 0)
        let others = [
            (["cluster.name": "south"], "cluster.name is south here, not north"),
            ([:], "cluster.name is missing here, not north"),
        ]
        for (flags, difference) in others {
            for command in [["serve"], ["check-config"], ["store", "status"], ["store", "policy", "show"]] {
                let run = try await self.program(command, flags: flags)
                #expect(run.exitCode == 79 && run.output.contains(difference), "\(command): \(run.output)")
                #expect(run.output.contains("belongs to another cluster"), "\(command): \(run.output)")
            }
        }
        let south = ["cluster.name": "south", "audit.file": "\(self.lab.folder)/a.audit"]
        #expect(try await self.program("store", "policy", "set", "--yes", flags: south).exitCode == 79)
        let rename = ["store", "policy", "set", "--yes", "--rename-cluster"]
        #expect(try await self.program(rename, flags: south).exitCode == 0)
        #expect(try await self.program("check-config", flags: south).exitCode == 0)
    }

    @Test("`store policy set` neither marks nor renames another cluster, unless the option to rename is given")
    func otherClusterKept() async throws {
        #expect(try await self.program("store", "init").exitCode == 0)
        // From now on, this server's commits are in a file, and the other cluster lacks them.
        let (server, _) = try await self.start("a")
        #expect(await server.terminate() == 0)
        let (audit, other) = ("\(self.lab.folder)/a.audit", try DatabaseUnderTest())
        let address = try other.flags(of: "a", folder: self.lab.folder).filter { $0.key == "store.address" }
        func atOther(_ name: String, _ command: String...) async throws -> ProgramRun {
            let flags = address.merging(["cluster.name": name, "audit.file": audit]) { $1 }
            return try await self.program(command, flags: flags)
        }
        #expect(try await atOther("south", "store", "init").exitCode == 0)
        let refused = try await atOther("north", "store", "policy", "set", "--yes")
        #expect(refused.exitCode == 79 && refused.output.contains("belongs to another cluster"), "\(refused.output)")
        #expect(try await atOther("south", "store", "status").exitCode == 0)
        let marked = try await atOther("north", "store", "policy", "set", "--yes", "--rename-cluster")
        #expect(marked.exitCode == 79 && marked.output.contains("lacks commits"), "\(marked.output)")
    }

    @Test("init creates a store once; status, check-config, the log and a metric say what a failover would keep")
    func commands() async throws {
        let missing = try await self.program("store", "status")
        #expect(missing.exitCode == 78 && missing.output.contains("store init"), "\(missing.output)")
        let made = try await self.program("store", "init")
        #expect(made.exitCode == 0 && made.output.contains("created the schema remote_pin"), "\(made.output)")
        let again = try await self.program("store", "init")
        #expect(again.exitCode == 78 && again.output.contains("has a store already"), "\(again.output)")
        let status = try await self.program("store", "status", "--json")
        #expect(status.exitCode == 0, "\(status.output)")
        #expect(try JSONValue(status.output)["role"]?.string == "remote_pin")
        let checked = try await self.program("check-config")
        #expect(checked.exitCode == 0 && checked.output.contains("`cluster.durability` is local"), "\(checked.output)")
        let backup = try await self.program("doctor")
        #expect(backup.output.contains("PostgreSQL"), "\(backup.output)")

        let (server, _) = try await self.start("a")
        #expect(server.output.contains("`cluster.durability` is local"), "\(server.output)")
        #expect(server.output.contains("durability=local"), "\(server.output)")
        let metrics = try await ObservedServer(server).metrics()
        for line in ["store_local_durability 1", "lease_held 1", "servers_live 1"] {
            #expect(metrics.contains("\nremote_pin_\(line)\n"), "\(line)")
        }
        #expect(await server.terminate() == 0)
    }

    @Test("with a trigger in the database no server judges or starts, and each program names the trigger")
    func trigger() async throws {
        #expect(try await self.program("store", "init").exitCode == 0)
        let (server, address) = try await self.start("a")
        let observed = try ObservedServer(server)
        let wallet = try await TestWallet.register(at: address, folder: self.lab.folder, pin: Self.pin)
        #expect(try await Self.miss(Self.session(of: wallet, at: address)) == 1)
        try await self.database.run(
            "create function public.undo() returns trigger language plpgsql as $$ begin return old; end $$",
            """
            create trigger undo before update on remote_pin.wallets for each row execute function public.undo()
            """
        )
        for _ in 0..<3 {
            await #expect(throws: (any Error).self) {
                let session = try await Self.session(of: wallet, at: address)
                if try await Self.miss(session) < 0 { throw UnexpectedAnswer() }
            }
        }
        let named = "trigger undo on wallets is unknown"
        for command in [["store", "status"], ["check-config"], ["serve"]] {
            let run = try await self.program(command, flags: ["cluster.server": "b"])
            #expect(run.exitCode == 79 && run.output.contains(named), "\(command): \(run.output)")
        }
        #expect(try await self.program("doctor").output.contains(named))
        #expect(await eventually { (try? await observed.metrics())?.contains("\nremote_pin_ready 0\n") == true })
        #expect(server.output.contains(named), "\(server.output)")

        try await self.database.run("drop trigger undo on remote_pin.wallets")
        #expect(await eventually { (try? await observed.metrics())?.contains("\nremote_pin_ready 1\n") == true })
        #expect(try await Self.miss(Self.session(of: wallet, at: address)) == 2)
        #expect(await server.terminate() == 0)
    }

    @Test("an unsafe, wrong, silent or foreign database is named with its cure, and the server does not start")
    func badDatabases() async throws {
        #expect(try await self.program("store", "init").exitCode == 0)
        func refuses(_ text: String, _ status: Int32, _ flags: [String: String] = [:], line: Int = #line) async throws {
            for command in ["check-config", "serve"] {
                let run = try await self.program(command, flags: flags)
                #expect(run.exitCode == status && run.output.contains(text), "line \(line), \(command): \(run.output)")
            }
        }
        let folder = self.database.folder
        try await refuses("synchronous_standby_names is empty", 69, ["cluster.durability": "replicated"])
        try await refuses("sslmode is require", 78, ["store.address": "postgresql://u@db.example/d?sslmode=require"])
        let secret = ["store.address": "postgresql://u:secret@localhost/d"]
        try await refuses("it contains a password", 78, secret)
        for command in [["config", "show"], ["check-config"], ["store", "status"], ["doctor"]] {
            let run = try await self.program(command, flags: secret)
            #expect(run.output.contains("store.address") && !run.output.contains("secret"), "\(command): \(run.output)")
        }
        try await refuses("start the database", 69, ["store.address": "host=127.0.0.1 port=1 user=u dbname=d"])
        try await refuses(
            "create the role and the database",
            69,
            ["store.address": "host=\(folder) user=test dbname=none"]
        )
        try await refuses("is a superuser", 78, ["store.address": "host=\(folder) user=test dbname=remote_pin"])
        let other = "\(self.lab.folder)/other-password"
        try DurableFile.write(Array("wrong\n".utf8), to: other)
        try await refuses("`store.password-file`", 69, ["store.password-file": other])
        try DurableFile.write(Array("\u{FEFF}wrong\r\n".utf8), to: other)
        try await refuses("a byte order mark (U+FEFF) at byte 1", 78, ["store.password-file": other])
        try DurableFile.write(Array("wrong\n".utf8), to: "\(other)-2", mode: 0o644)
        try await refuses("chmod 600", 78, ["store.password-file": "\(other)-2"])

        try await self.database.run("alter database remote_pin set default_transaction_read_only = on")
        try await refuses("is a standby", 69)
        try await self.database.run("alter database remote_pin reset default_transaction_read_only")
        try await self.database.run("alter database remote_pin set synchronous_commit = off")
        try await refuses("synchronous_commit is off", 69)
        try await self.database.run("alter database remote_pin reset synchronous_commit")
        try await self.database.run("alter role remote_pin connection limit 0")
        try await refuses("raise max_connections", 69)
        try await self.database.run("alter role remote_pin connection limit -1", "create database bare owner test")
        let bare = ["store.address": "host=\(folder) user=remote_pin dbname=bare"]
        try await refuses("may not create a schema", 78, bare)
        try await self.database.run("grant pg_signal_backend to remote_pin")
        try await refuses("revoke pg_signal_backend", 78)
        try await self.database.run("revoke pg_signal_backend from remote_pin")
        try await self.database.run("alter schema remote_pin owner to test")
        try await refuses("belongs to another role", 78)
        try await self.database.run("alter schema remote_pin owner to remote_pin")
        try await self.database.run("update remote_pin.facts set schema_version = schema_version + 1")
        try await refuses("install the newer server", 78)
        try await self.database.run("update remote_pin.facts set schema_version = schema_version - 1")
        let process = try self.database.processID
        kill(process, SIGSTOP)
        try await refuses("did not answer in time", 69, ["store.time-limit": "500ms"])
        kill(process, SIGCONT)
        #expect(try await self.program("check-config").exitCode == 0)
    }
}
