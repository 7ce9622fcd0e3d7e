import Glibc
import HostSystem
import LabFiles
import TestSupport
import Testing
import Vocabulary
import Wire

/// The real server with a program as its hook.
@Suite("The server's hooks")
struct HookTests {
    private let lab: LabUnderTest
    private let lines: String

    init() async throws {
        self.lab = try await LabUnderTest()
        self.lines = "\(self.lab.folder)/lines"
    }

    /// Starts a server with one round of two attempts or two rounds of one, and a hook program that records the events.
    private func start(_ script: String, rounds: Int = 2, _ more: [String: String] = [:]) async throws -> ServerProcess
    {
        let environment = [
            "REMOTE_PIN_PIN_ROUNDS": "\(rounds)", "REMOTE_PIN_PIN_ATTEMPTS_PER_ROUND": "\(2 / rounds)",
            "REMOTE_PIN_PIN_BLOCKS": rounds == 1 ? "[]" : "[1m]", "REMOTE_PIN_LOG_FILE": "none",
            "REMOTE_PIN_HOOK_PROGRAM": "/bin/sh", "REMOTE_PIN_HOOK_ARGUMENTS": "-c,\(script),\(self.lines)",
        ]
        return try await self.lab.start(environment.merging(more) { $1 })
    }

    private func admin(_ arguments: String...) async throws {
        let run = try await ServerProcess.run(
            "remote-pin-server",
            ["admin"] + arguments + ["--lab", self.lab.lab.path]
        )
        try #require(run.exitCode == 0, "\(run.output)")
    }

    /// The recorded events, complete after server and program have ended.
    private func events() throws -> [JSONValue] {
        let text = String(decoding: try DurableFile.read(self.lines, atMost: 1 << 20), as: UTF8.self)
        return try text.split(separator: "\n").map { try JSONValue(String($0)) }
    }

    @Test("every block and revocation is reported once, without secrets")
    func reportedOnce() async throws {
        let server = try await self.start("exec cat >>\"$0\"")
        let blocked = try await self.lab.register(pin: "135790")
        let session = try await blocked.openSession()
        guard case .wrong(.blocked) = try await session.check("000000") else { throw UnexpectedAnswer() }
        // A running block is not a new one.
        guard case .blocked = try await session.check("135790") else { throw UnexpectedAnswer() }
        try await self.admin("clock", "advance", "61s")
        #expect(try await session.check("000001") == .wrong(.blockedPermanently))
        let code = "NL-999-1234"
        let link = Instruction.linkRecoveryCode(try RecoveryCode(reading: code.utf8))
        let linked = try await self.lab.register(pin: "135790")
        _ = try await linked.openSession().answer(link, pin: "135790")
        let late = try await self.lab.register(pin: "135790")
        let lost = try await self.lab.register(pin: "135790")
        let dear = try await self.lab.register(pin: "135790")
        try await self.admin("revoke", "wallet", "\(lost.walletID)")
        try await self.admin("revoke", "wallet", "\(lost.walletID)", "\(dear.walletID)")
        try await self.admin("deny-list", "add", code)
        try await self.admin("deny-list", "add", code)
        _ = try await late.openSession().answer(link, pin: "135790")
        let coded = try await self.lab.register(pin: "135790")
        let deletion = try coded.deletionCode.orThrow().characters
        for _ in 0..<2 {
            #expect(await (try self.lab.server.connect()).answer(.revokeWithCode(deletion)) == .other("revoked"))
        }
        try await self.admin("revoke", "solution", "--yes")
        try await self.admin("revoke", "solution", "--yes")
        try await self.admin("restore", "solution", "--yes")
        #expect(await server.terminate() == 0)

        let events = try self.events()
        let names = events.map { event in
            [event["event"]?.string, event["wallet"]?.string, event["reason"]?.string].compactMap(\.self)
        }
        #expect(
            names == [
                ["blocked", "\(blocked.walletID)"], ["blocked-permanently", "\(blocked.walletID)"],
                ["revoked", "\(lost.walletID)", "wallet"], ["revoked", "\(dear.walletID)", "wallet"],
                ["revoked", "\(linked.walletID)", "recovery-code"], ["revoked", "\(late.walletID)", "recovery-code"],
                ["revoked", "\(coded.walletID)", "user"], ["solution-revoked"], ["solution-restored"],
            ]
        )
        let text = String(decoding: try DurableFile.read(self.lines, atMost: 1 << 20), as: UTF8.self)
        for secret in ["135790", code, deletion] { #expect(!text.contains(secret)) }
        for line in ["wallet blocked", "wallet blocked permanently", "wallet revoked by its deletion code"] {
            #expect(server.output.contains(line))
        }
    }

    @Test("a program that never reads delays neither PIN checks nor shutdown")
    func hanging() async throws {
        let server = try await self.start("exec tail -f /dev/null", ["REMOTE_PIN_HOOK_QUEUE": "1"])
        for _ in 0..<4 {
            let session = try await self.lab.register(pin: "135790").openSession()
            guard case .wrong(.blocked) = try await session.check("000000") else { throw UnexpectedAnswer() }
        }
        let wallet = try await self.lab.register(pin: "135790")
        #expect(try await wallet.openSession().check("135790") == wallet.unlockShare.asValid)
        #expect(await server.terminate() == 0)
    }

    @Test("a program that ignores end of input and SIGTERM does not outlive an immediate server exit")
    func ignoresSignals() async throws {
        // The program has its own streams, so that only a signal can end it. Its child has another environment, so that
        // only the group shows whose it is.
        let child = "env -i PATH=\"$PATH\" sleep 600"
        let script = "exec 2>/dev/null; trap '' TERM HUP; echo $$ >\"$0\"; \(child) & echo $! >>\"$0\"; wait"
        let server = try await self.start(script, ["REMOTE_PIN_DRAIN_DELAY": "5m"])
        let lines = self.lines
        let isStarted = await eventually {
            ((try? DurableFile.read(lines, atMost: 64)) ?? []).count { $0 == 0x0A } == 2
        }
        try #require(isStarted)
        let text = String(decoding: try DurableFile.read(lines, atMost: 64), as: UTF8.self)
        let processes = text.split(separator: "\n").compactMap { Int32($0) }
        try #require(processes.count == 2)
        defer { for process in processes { kill(process, SIGKILL) } }
        server.send(SIGTERM)
        #expect(await server.writes("notice stopping"))
        #expect(processes.allSatisfy { isRunning($0) }, "the hook runs until the server exits")
        server.send(SIGTERM)
        #expect(await server.ended() == 128 + SIGTERM)
        for process in processes {
            #expect(await eventually { !isRunning(process) })
        }
    }

    @Test("a program that writes to standard error without end adds some short lines to the log, with a count")
    func noisy() async throws {
        let long = "head -c 2000 /dev/zero | tr '\\0' x >&2; echo >&2"
        let script = "\(long); yes 'a \"line' | head -n 100000 >&2; echo >\"$0\""
        let server = try await self.start(script)
        let lines = self.lines
        #expect(await eventually { DurableFile.exists(lines) })
        #expect(await server.terminate() == 0)
        let messages = server.output.split(separator: "\n").filter { $0.contains("warning message of the hook ") }
        #expect(messages.count < 100, "20 each time that the program is started")
        #expect(messages.first?.contains(" text=" + String(repeating: "x", count: 500)) == true)
        #expect(messages.first?.contains(String(repeating: "x", count: 501)) == false)
        #expect(messages.contains { $0.hasSuffix(" text=\"a \\\"line\"") })
    }

    @Test("check-config rejects a hook that is not executable, and hook arguments are never shown")
    func noProgram() async throws {
        let arguments = ["check-config", self.lab.lab.path, "--hook.program", "/etc/passwd"]
        let run = try await ServerProcess.run("remote-pin-server", arguments)
        #expect(
            run.exitCode == 78 && run.output.contains("`hook.program`: /etc/passwd is not a program"),
            "\(run.output)"
        )
        let shown = try await ServerProcess.run(
            "remote-pin-server",
            [
                "config", "show", self.lab.lab.path, "--hook.program", "/bin/cat", "--hook.arguments",
                "[--token, abc123]",
            ]
        )
        #expect(shown.exitCode == 0 && shown.output.contains("(not shown)") && !shown.output.contains("abc123"))
        let alone = try await ServerProcess.run(
            "remote-pin-server",
            ["config", "show", self.lab.lab.path, "--hook.program", "/bin/cat", "--hook.arguments"]
                + [String(repeating: "abc123", count: 1000)]
        )
        #expect(alone.exitCode == 78 && !alone.output.contains("abc123"), "\(alone.output)")
    }
}
