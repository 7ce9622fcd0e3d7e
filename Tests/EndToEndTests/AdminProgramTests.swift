import Glibc
import HostSystem
import LabFiles
import TestSupport
import Testing
import Vocabulary
import Wire

@Suite("The server's admin commands, with the real programs")
struct AdminProgramTests {
    private let lab: LabUnderTest
    private let phone: CommandLinePhone

    init() async throws {
        self.lab = try await LabUnderTest()
        self.phone = CommandLinePhone(in: self.lab)
    }

    private func admin(_ arguments: String...) async throws -> ProgramRun {
        try await ServerProcess.run("remote-pin-server", ["admin"] + arguments + ["--lab", self.lab.lab.path])
    }

    /// The line of JSON that a command prints.
    private func json(_ arguments: String...) async throws -> JSONValue {
        let run = try await ServerProcess.run(
            "remote-pin-server",
            ["admin"] + arguments + ["--json", "--lab", self.lab.lab.path]
        )
        try #require(run.exitCode == 0, "\(run.output)")
        #expect(run.output.split(separator: "\n").count == 1)
        return try JSONValue(run.output)
    }

    @Test("a wallet is shown, revoked with its open session, then shown as revoked by the server and by the app")
    func wallet() async throws {
        let server = try await self.lab.start()
        try await self.phone.setUp(pin: "135790")
        let wallet = "\(try self.phone.registration().walletID)"
        #expect(try await self.phone.run("unlock", pins: ["864209"]).exitCode == 10)
        var shown = try await self.json("wallet", "show", wallet)
        #expect(shown["state"]?.string == "open")
        #expect(shown["pin"]?["failures"] == .integer(1))
        #expect(shown["platform"]?.string == "android")
        let text = try await self.admin("wallet", "show", wallet)
        #expect(text.exitCode == 0 && !text.output.contains("\u{1B}"))

        let other = try await self.lab.register(pin: "135790")
        let session = try await other.openSession()
        let unknown = String(repeating: "0", count: 32)
        let none = try await self.admin("revoke", "wallet", wallet, "\(other.walletID)", unknown)
        #expect(none.exitCode == 67 && none.output.contains(unknown), "\(none.output)")
        #expect(try await session.check("135790") == other.unlockShare.asValid)
        let done = try await self.json("revoke", "wallet", wallet, "\(other.walletID)", wallet)
        #expect(done["revoked"] == .integer(2) && done["alreadyRevoked"] == .integer(0))
        #expect(try await session.check("135790") == .closed)
        let revocation = Revocation(reason: .wallet, mayRegisterAnew: true)
        guard case .revoked(revocation) = try await other.openSession().opening else { throw UnexpectedAnswer() }
        #expect(try await self.phone.run("unlock", pins: ["135790"]).exitCode == 13)
        shown = try await self.json("wallet", "show", wallet)
        #expect(shown["state"]?.string == "revoked" && shown["revocation"]?["reason"]?.string == "wallet")
        #expect(await server.terminate() == 0)
    }

    @Test("a wallet's state has the same name in tables, in JSON and in lists")
    func states() async throws {
        let server = try await self.lab.start(["REMOTE_PIN_LOG_FILE": "none"])
        let wallet = try await self.lab.register(pin: "135790")
        let id = "\(wallet.walletID)"
        func states() async throws -> Set<String?> {
            let text = try await self.admin("wallet", "show", id).output
            let listed = try await self.json("wallet", "list")["wallets"]?.array.first
            return [
                text.firstMatch(of: /\nstate +([^\n]+)\n/).map { String($0.1) },
                try await self.json("wallet", "show", id)["state"]?.string, listed?["state"]?.string,
            ]
        }
        #expect(try await states() == ["never-opened"])
        let session = try await wallet.openSession()
        #expect(try await states() == ["open"])
        for _ in 0..<4 { _ = try await session.check("864209") }
        #expect(try await states() == ["blocked"])
        #expect(try await self.admin("clock", "advance", "61s").exitCode == 0)
        #expect(try await states() == ["open"])
        #expect(try await self.admin("revoke", "solution", "--yes").exitCode == 0)
        #expect(try await self.admin("wallet", "show", id).output.contains("open; the solution is revoked"))
        #expect(await server.terminate() == 0)
    }

    @Test("a recovery code is taken from a descriptor, a file or an argument, and never shown or logged")
    func recoveryCode() async throws {
        let server = try await self.lab.start()
        let wallet = try await self.lab.register(pin: "135790")
        let session = try await wallet.openSession()
        let code = "NL-999-1234"
        let link = Instruction.linkRecoveryCode(try RecoveryCode(reading: code.utf8))
        #expect(try await session.answer(link, pin: "135790") == .recoveryCodeLinked)
        let file = "\(self.lab.folder)/code"
        try DurableFile.write(Array("\(code)\n".utf8), to: file)
        #expect(try await self.admin("deny-list", "show", "--code-file", file).exitCode == 1)
        let done = try await ServerProcess.run(
            "/bin/sh",
            [
                "-c", "exec \"$0\" admin revoke recovery-code --code-fd 0 --lab \"$1\" <\"$2\"",
                Programs.path("remote-pin-server"), self.lab.lab.path, file,
            ]
        )
        #expect(done.exitCode == 0 && done.output.contains("1 wallet is revoked"), "\(done.output)")
        #expect(try await session.check("135790") == .closed)
        let ended = Revocation(reason: .recoveryCode, mayRegisterAnew: false)
        guard case .revoked(ended) = try await wallet.openSession().opening else { throw UnexpectedAnswer() }
        let listed = try await self.json("deny-list", "list")
        let mac = try listed["entries"]?.array.first?["mac"]?.string.orThrow() ?? ""
        #expect(mac.count == 64)
        #expect(try await self.admin("deny-list", "show", code).exitCode == 0)
        let both = try await self.admin("deny-list", "show", code, "--mac", mac)
        #expect(both.exitCode == 64)
        #expect(try await self.admin("revoke", "recovery-code").exitCode == 64, "there is no terminal to ask at")
        #expect(try await self.admin("deny-list", "remove", "--mac", mac).exitCode == 0)
        #expect(try await self.admin("deny-list", "remove", "--mac", mac).exitCode == 1)
        #expect(try await self.admin("wallet", "show", "\(wallet.walletID)").output.contains("its recovery code"))
        #expect(!done.output.contains(code) && !server.output.contains(code))
        #expect(await server.terminate() == 0)
    }

    @Test("a recovery code is read alike from every source, and a code without a wallet has its own exit status")
    func recoveryCodeForms() async throws {
        let server = try await self.lab.start()
        let wallet = try await self.lab.register(pin: "135790")
        let session = try await wallet.openSession()
        #expect(try await session.answer(.linkRecoveryCode("person-77"), pin: "135790") == .recoveryCodeLinked)
        let file = "\(self.lab.folder)/code"
        func revoke(_ content: String) async throws -> ProgramRun {
            try DurableFile.write(Array(content.utf8), to: file)
            return try await self.admin("revoke", "recovery-code", "--code-file", file)
        }
        for (content, name) in [
            ("\u{FEFF}person-77\n", "U+FEFF"), ("person 77", "U+0020"), ("person-77\nperson-78\n", "U+000A"),
            ("person-77\u{200B}", "U+200B"), ("Jose\u{301}-1", "U+0301"), ("José-1", "U+00E9"), (" \r\n", "is empty"),
            (String(repeating: "x", count: 129), "longer than 128 bytes"), ("person-77\u{0}", "U+0000"),
        ] {
            let run = try await revoke(content)
            #expect(run.exitCode == 64 && run.output.contains(name), "\(content.debugDescription): \(run.output)")
        }
        let other = try await revoke("Person-77\n")
        #expect(other.exitCode == 80 && other.output.contains("no wallet is linked to it"), "\(other.output)")
        #expect(try await self.admin("revoke", "recovery-code", "Person-77").exitCode == 80, "repeated")
        let json = try await self.admin("deny-list", "add", "Person-77", "--json")
        #expect(json.exitCode == 80 && json.output.contains(#""linked":0"#), "\(json.output)")
        #expect(try await session.check("135790") == wallet.unlockShare.asValid)

        let forms = ["person-77\r\n", "person-77", "  person-77\t\n\n", "\r\nperson-77 \r\n"]
        let done = try await revoke(forms[0])
        #expect(done.exitCode == 0 && done.output.contains("1 wallet is revoked by it now"), "\(done.output)")
        #expect(try await session.check("135790") == .closed)
        let ended = Revocation(reason: .recoveryCode, mayRegisterAnew: false)
        guard case .revoked(ended) = try await wallet.openSession().opening else { throw UnexpectedAnswer() }
        for form in forms {
            let again = try await revoke(form)
            #expect(again.exitCode == 0 && again.output.contains("0 wallets are revoked by it now"), "\(again.output)")
            #expect(try await self.admin("deny-list", "show", "--code-file", file).exitCode == 0)
            #expect(try await self.admin("deny-list", "show", form).exitCode == 0)
            let read = try await ServerProcess.run(
                "/bin/sh",
                [
                    "-c", "exec \"$0\" admin deny-list show --code-fd 0 --lab \"$1\" <\"$2\"",
                    Programs.path("remote-pin-server"), self.lab.lab.path, file,
                ]
            )
            #expect(read.exitCode == 0, "\(form.debugDescription): \(read.output)")
        }
        #expect(try await self.admin("deny-list", "remove", "--code-file", file).exitCode == 0)
        #expect(await server.terminate() == 0)
    }

    @Test("the solution is revoked only after confirmation, and can be restored")
    func solution() async throws {
        let server = try await self.lab.start()
        try await self.phone.setUp(pin: "135790")
        let asked = try await self.admin("revoke", "solution")
        #expect(asked.exitCode == 64 && asked.output.contains("--yes"), "\(asked.output)")
        #expect(try await self.phone.run("unlock", pins: ["135790"]).exitCode == 0)
        #expect(try await self.admin("revoke", "solution", "--yes").exitCode == 0)
        #expect(try await self.phone.run("unlock", pins: ["135790"]).exitCode == 13)
        #expect(try await self.json("restore", "solution", "--yes")["changed"] == .boolean(true))
        #expect(try await self.phone.run("unlock", pins: ["135790"]).exitCode == 0)
        #expect(await server.terminate() == 0)
    }

    @Test("flags and the update policy survive a kill, and the policy follows the lab's clock")
    func afterKill() async throws {
        let first = try await self.lab.start()
        let wallet = try await self.lab.register(pin: "135790")
        #expect(try await self.admin("flags", "set", "safe-biometric-unlock", "percent", "100").exitCode == 0)
        #expect(try await self.admin("update-policy", "set", "android", "..2=warn@+60s", "2..=notify").exitCode == 0)
        await first.kill()
        let second = try await self.lab.start()
        guard case .active(let active) = try await wallet.openSession().opening else { throw UnexpectedAnswer() }
        #expect(active.features.safeBiometricUnlock)
        #expect(try await self.json("flags")["flags"]?.array.first?["percentage"] == .integer(100))
        try await self.phone.setUp(pin: "135790")
        #expect(try await self.admin("clock", "advance", "61s").exitCode == 0)
        #expect(try await self.phone.run("unlock", pins: ["135790"]).exitCode == 17)
        let policy = try await self.json("update-policy")
        #expect(policy["android"]?["setBy"]?.string == "operator" && policy["ios"]?["setBy"]?.string == "settings")
        #expect(policy["android"]?["rules"]?.array.first?["now"]?.string?.contains("blocked") == true)
        #expect(try await self.admin("update-policy", "clear", "all").exitCode == 0)
        #expect(try await self.phone.run("unlock", pins: ["135790"]).exitCode == 0)
        #expect(await second.terminate() == 0)
    }

    @Test("with the deletion code off no wallet gets one, Hello reports it, and none can be shown")
    func noDeletionCode() async throws {
        let server = try await self.lab.start(["REMOTE_PIN_FEATURES_DELETION_CODE": "false"])
        let wallet = try await self.lab.register(pin: "135790")
        #expect(wallet.deletionCode == nil)
        let session = try await wallet.openSession()
        guard case .active(let active) = session.opening else { throw UnexpectedAnswer() }
        #expect(!active.features.deletionCode)
        #expect(try await session.answer(.showDeletionCode, pin: "135790") == .refused(.notAllowed))
        let shown = try await self.json("wallet", "show", "\(wallet.walletID)")
        #expect(shown["hasDeletionCode"] == .boolean(false) && shown["features"]?["deletionCode"] == .boolean(false))
        #expect(await server.terminate() == 0)
    }

    @Test(
        "an impossible command is rejected before the confirmation, with the way out",
        arguments: [
            (["wallet", "show", "zz"], "32 hexadecimal digits"), (["revoke", "wallet"], "wallet"),
            (["revoke", "wallet", "12"], "32 hexadecimal digits"),
            (["flags", "set", "safe-biometrics", "on"], "safe-biometric-unlock"),
            (["flags", "set", "safe-biometric-unlock", "percent", "101"], "0 to 100"),
            (["flags", "set", "safe-biometric-unlock", "list"], "off"),
            (["flags", "set", "safe-biometric-unlock", "on", "5"], "percent N"),
            (["update-policy", "set", "android", "1.2=block"], "not a range"),
            (["update-policy", "set", "android", "2..1=block"], "no version is in that range"),
            (["update-policy", "set", "android", "..1=warn@soon"], "warn@TIME"),
            (["update-policy", "set", "windows", "all=ok"], "android"),
            (["deny-list", "show", "--mac", "12"], "64 hexadecimal digits"),
            (["wallet", "list", "--state", "asleep"], "never-opened"),
            (["wallet", "list", "--platform", "palm"], "ios"),
            (["wallet", "list", "--registered-from", "soon"], "2026-12-24"), (["log-level", "loud"], "warning"),
            (["audit", "verify", "--last", "7"], "NUMBER:MAC"), (["audit", "show", "--wallet", "1"], "32 hexadecimal"),
            (["audit", "show", "--event", "revoke"], "revoke wallet"),
        ] as [([String], String)]
    )
    func usage(arguments: [String], wayOut: String) async throws {
        let run = try await ServerProcess.run("remote-pin-server", ["admin"] + arguments + ["--lab", "/nowhere"])
        #expect(run.exitCode == 64, "\(run.output)")
        #expect(run.output.contains(wayOut), "\(run.output)")
    }

    @Test(
        "a user who may not open the socket gets a permission error, not an error that no server answers",
        .enabled(if: geteuid() == 0, "another user is needed")
    )
    func otherUser() async throws {
        let server = try await self.lab.start()
        let run = try await ServerProcess.run(
            "/usr/bin/setpriv",
            [
                "--reuid=65534", "--regid=65534", "--clear-groups", Programs.path("remote-pin-server"), "admin",
                "status",
                "--socket", "\(self.lab.lab.serverFolder)/admin.sock",
            ]
        )
        #expect(run.exitCode == 77 && run.output.contains("this user may not open"), "\(run.output)")
        #expect(await server.terminate() == 0)
    }

    @Test("the help of every command has an example, and an unreachable server is named")
    func help() async throws {
        for command in [
            ["wallet", "show"], ["revoke", "wallet"], ["revoke", "recovery-code"], ["revoke", "solution"],
            ["restore", "solution"], ["deny-list", "list"], ["deny-list", "show"], ["deny-list", "add"],
            ["deny-list", "remove"], ["flags", "list"], ["flags", "set"], ["update-policy", "show"],
            ["update-policy", "set"], ["update-policy", "clear"], ["clock", "advance"], ["status"], ["sessions"],
            ["wallet", "list"],
            ["reload"], ["log-level"], ["audit", "verify"], ["audit", "show"],
        ] {
            let help = try await ServerProcess.run("remote-pin-server", ["help", "admin"] + command)
            #expect(help.exitCode == 0)
            #expect(help.output.contains("  remote-pin-server admin \(command[0])"), "\(command): \(help.output)")
        }
        let run = try await self.admin("flags")
        #expect(run.exitCode == 69 && run.output.contains("is it running"), "\(run.output)")
    }
}
