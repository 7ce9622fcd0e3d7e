import Foundation
import LabFiles
import Secrets
import Statements
import HostSystem
import TestSupport
import Testing
import Transport
import Vocabulary
import Wire

/// The behavior of the commands that scripts depend on; `WalletOutputTests` covers their output.
@Suite("The wallet's command line")
struct CommandLineTests {
    private static let pin = "024791"

    private let lab: LabUnderTest
    private let phone: CommandLinePhone

    init() async throws {
        self.lab = try await LabUnderTest()
        self.phone = CommandLinePhone(in: self.lab)
    }

    @Test("exit code 12 means permanently blocked, and 17 that the app is too old")
    func lastingObstacles() async throws {
        var settings = LabUnderTest.sixteenAttempts
        settings["REMOTE_PIN_PIN_ATTEMPTS_PER_ROUND"] = "1"
        var server = try await self.lab.start(settings)
        try await self.phone.setUp(pin: Self.pin)
        #expect(try await self.phone.run("unlock", pins: ["864209"]).exitCode == 12)
        #expect(try await self.phone.run("unlock", pins: [Self.pin]).exitCode == 12)
        #expect(await server.terminate() == 0)
        settings["REMOTE_PIN_UPDATE_ANDROID_MINIMUM"] = "2.0.0"
        server = try await self.lab.start(settings)
        #expect(try await self.phone.run("open").exitCode == 17)
        #expect(try await CommandLinePhone(in: self.lab, "new").run("setup", pins: [Self.pin]).exitCode == 17)
        #expect(await server.terminate() == 0)
    }

    @Test("after a revocation with the deletion code commands exit with 13 and change no data")
    func revoked() async throws {
        let server = try await self.lab.start()
        let run = try await self.phone.run("setup", "--code-written-down", pins: [Self.pin])
        let code = try run.output.split(separator: "\n").compactMap { line in
            try JSONValue(String(line))["values"]?["deletionCode"]?.string
        }.first.orThrow()
        let connection = try await self.lab.server.connect()
        guard case .revokeWithCode(.revoked) = try await connection.call(.revokeWithCode(code), timeout: .seconds(60))
        else { throw UnexpectedAnswer() }
        connection.close()
        let before = try self.phone.ownFiles()
        for command in ["unlock", "show-deletion-code"] {
            #expect(try await self.phone.run(command, pins: [Self.pin]).exitCode == 13)
        }
        #expect(try await self.phone.run("open").exitCode == 13)
        #expect(try self.phone.ownFiles() == before)
        #expect(await server.terminate() == 0)
        #expect(try await self.phone.run("open").exitCode == 13, "the revocation is cached while the server is down")
    }

    @Test("confirm exits with 0 only if the PIN or, if the host allows it, the prompt has confirmed")
    func confirm() async throws {
        let server = try await self.lab.start()
        let flag = ["admin", "flags", "set", "safe-biometric-unlock", "on", "--lab", self.lab.lab.path]
        #expect(try await ServerProcess.run("remote-pin-server", flag).exitCode == 0)
        let setup = try await self.phone.run(
            "setup",
            "--biometrics",
            "face",
            "--enable-biometrics",
            "--code-written-down",
            pins: [Self.pin]
        )
        #expect(setup.exitCode == 0, "\(setup.output)")
        func confirm(_ arguments: String..., pins: [String] = []) async throws -> (Int32, outcomes: [String]) {
            let script = "\(self.lab.folder)/hook-\(arguments.last ?? "")"
            let run = try await self.phone.run("confirm", "--title", "Pay", "--biometric-hook", script, pins: pins)
            let names = run.output.split(separator: "\n").compactMap { try? JSONValue(String($0))["name"]?.string }
            return (run.exitCode, names.filter { ["confirmed", "declined"].contains($0) })
        }
        let answer =
            "case $(cat) in *'\"purpose\":\"confirm\"'*) echo '{\"result\":\"RESULT\"}';; "
            + "*) echo '{\"result\":\"confirmed\"}';; esac"
        for result in ["confirmed", "cancelled"] {
            let script = "#!/bin/sh\n\(answer.replacing("RESULT", with: result))\n"
            try DurableFile.write(Array(script.utf8), to: "\(self.lab.folder)/hook-\(result)", mode: 0o755)
        }
        #expect(try await confirm("cancelled", pins: ["864209"]) == (10, []))
        #expect(try await confirm("cancelled", pins: [Self.pin]) == (0, ["confirmed"]))
        try DurableFile.write(Array("confirm_with_prompt: true\n".utf8), to: "\(self.phone.home)/wallet.yaml")
        #expect(try await confirm("confirmed") == (0, ["confirmed"]))
        #expect(try await confirm("cancelled") == (18, ["declined"]))
        #expect(try await self.phone.run("confirm", "--title", "").exitCode == 64)
        #expect(try await self.phone.counted() == 0)
        #expect(await server.terminate() == 0)
    }

    @Test("a PIN is read from a descriptor or a file, and no option accepts it")
    func pinSources() async throws {
        let server = try await self.lab.start()
        try await self.phone.setUp(pin: Self.pin)
        let file = "\(self.lab.folder)/pin"
        try DurableFile.write(Array("\(Self.pin)\n".utf8), to: file)
        let run = try await ServerProcess.run(
            "/bin/sh",
            [
                "-c", "exec \"$0\" unlock --lab \"$1\" --home \"$2\" --pin-fd 7 7<\"$3\"", Programs.path("wallet"),
                self.lab.lab.path, self.phone.home, file,
            ]
        )
        #expect(run.exitCode == 0, "\(run.output)")
        for arguments in [["--pin", Self.pin], ["--pin=\(Self.pin)"], [Self.pin], ["--pin-file", file, "٠٢٤٧٩١"]] {
            let run = try await ServerProcess.run("wallet", ["unlock", "--home", self.phone.home] + arguments)
            #expect(run.exitCode == 64 && run.output.contains("use --pin-fd N or --pin-file FILE"), "\(run.output)")
            #expect(!run.output.contains(Self.pin) && !run.output.contains("٠"), "\(run.output)")
            #expect(!run.output.contains("--lab"), "\(run.output)")
        }
        #expect(try await self.phone.run("unlock", "--sensr", "match").output.contains("--sensor"))
        for arguments in [
            ["--pin-file", Self.pin], ["--pin-file=\(Self.pin)"], ["--trace=\(Self.pin)"], ["--sensor", Self.pin],
            ["--pin\(Self.pin)"], ["--set", "sensor=\(Self.pin)"], ["--json", "--sensor", Self.pin],
        ] {
            let phone = ["--lab", self.lab.lab.path, "--home", self.phone.home]
            let run = try await ServerProcess.run("wallet", ["unlock"] + phone + arguments)
            #expect(run.exitCode == 64 && !run.output.contains(Self.pin), "\(arguments): \(run.output)")
        }
        let misspelt = try await ServerProcess.run("wallet", ["run", ".", "--jons", "2000"])
        #expect(misspelt.exitCode == 64 && misspelt.output.contains("--jons") && misspelt.output.contains("--pin-fd"))
        #expect(!misspelt.output.contains("2000"), "\(misspelt.output)")
        let endless = try await self.phone.run("unlock", "--pin-file", "/dev/zero")
        #expect(endless.exitCode == 64 && endless.output.contains("cannot be read"), "\(endless.output)")
        #expect(try await self.phone.run("unlock", "--pin-fd", "0", pins: [Self.pin]).exitCode == 64)
        #expect(try await self.phone.run("unlock").exitCode == 64, "no terminal for a prompt")
        #expect(try await self.phone.run("unlock", "--pin-file", "\(file).none").exitCode == 64)
        // Closed by the shell: a program started beside other tests may inherit any descriptor, and would read from it.
        let closed = "exec \"$0\" unlock --lab \"$1\" --home \"$2\" --pin-fd 9 9<&-"
        let command = ["-c", closed, Programs.path("wallet"), self.lab.lab.path, self.phone.home]
        #expect(try await ServerProcess.run("/bin/sh", command).exitCode == 64)
        #expect(await server.terminate() == 0)
    }

    @Test("line ends and blanks around a PIN in a file are ignored; any other character that is not visible is named")
    func pinFileForms() async throws {
        let server = try await self.lab.start()
        try await self.phone.setUp(pin: Self.pin)
        let file = "\(self.lab.folder)/pin"
        func unlock(_ content: String) async throws -> ProgramRun {
            try DurableFile.write(Array(content.utf8), to: file)
            return try await self.phone.run("unlock", "--pin-file", file)
        }
        for content in ["\(Self.pin)\r\n", " \(Self.pin)\t\n", "\r\n\n\(Self.pin)", "\u{FF10}24791\n"] {
            let run = try await unlock(content)
            #expect(run.exitCode == 0, "\(content.debugDescription): \(run.output)")
        }
        for (content, name) in [
            ("\u{FEFF}\(Self.pin)\n", "U+FEFF"), ("024 791\n", "U+0020"), ("\(Self.pin)\u{A0}\n", "U+00A0"),
            ("\u{FF10}24791½\n", "U+00BD"), ("\(Self.pin)\u{0}\n", "U+0000"),
        ] {
            let run = try await unlock(content)
            #expect(run.exitCode == 64 && run.output.contains(name), "\(content.debugDescription): \(run.output)")
        }
        #expect(try await unlock("\n\r\n").exitCode == 18)
        #expect(try await self.phone.counted() == 0)
        let other = CommandLinePhone(in: self.lab, "other")
        try DurableFile.write(Array("\(Self.pin)\r\n\r\n".utf8), to: file)
        #expect(try await other.run("setup", "--code-written-down", "--pin-file", file).exitCode == 0)
        #expect(await server.terminate() == 0)
    }

    @Test("with biometrics on, commands unlock with them or fall back to the PIN")
    func biometrics() async throws {
        let server = try await self.lab.start()
        let setup = try await self.phone.run(
            "setup",
            "--platform",
            "ios",
            "--biometrics",
            "face",
            "--sensor",
            "match",
            "--enable-biometrics",
            "--code-written-down",
            pins: [Self.pin]
        )
        #expect(setup.exitCode == 0 && setup.output.contains("UC2.1/1.4a"), "\(setup.output)")
        let opened = try await self.phone.run("unlock", pins: ["864209"])
        #expect(opened.exitCode == 0 && opened.output.contains("UC2.3/1.2a"), "no PIN was requested: \(opened.output)")
        #expect(try await self.phone.run("change-pin", pins: [Self.pin, "135790"]).exitCode == 0)
        #expect(try await self.phone.run("show-deletion-code", pins: ["135790"]).exitCode == 0)
        #expect(try await self.phone.run("unlock", "--sensor", "reject:1", pins: ["864209"]).exitCode == 10)
        #expect(try await self.phone.run("setup", "--sensor", "match", pins: [Self.pin]).exitCode == 64)
        for sensor in ["reject:1", "cancel"] {
            #expect(try await self.phone.run("unlock", "--sensor", sensor, pins: ["135790"]).exitCode == 0)
        }
        #expect(await server.terminate() == 0)
    }

    @Test("a setup skips biometrics by default, shows the code, and reports a rejected biometric")
    func offeredBiometrics() async throws {
        let server = try await self.lab.start()
        let skipped = try await self.phone.run(
            "setup",
            "--biometrics",
            "fingerprint",
            "--sensor",
            "match",
            pins: [Self.pin]
        )
        #expect(skipped.exitCode == 0 && skipped.output.contains("UC2.1/1.3b"), "\(skipped.output)")
        #expect(skipped.output.contains("deletionCode"))
        let refused = try await CommandLinePhone(in: self.lab, "refused").run(
            "setup",
            "--biometrics",
            "fingerprint",
            "--sensor",
            "cancel",
            "--enable-biometrics",
            pins: [Self.pin]
        )
        #expect(refused.exitCode == 18 && refused.output.contains("UC2.1/1.4b"), "\(refused.output)")
        #expect(await server.terminate() == 0)
    }

    @Test("the examples in the help can be copied to a shell, and it names the mode for screen readers")
    func help() async throws {
        let drive = try await ServerProcess.run("wallet", ["help", "drive"])
        #expect(drive.exitCode == 0 && drive.output.contains(#"printf '%s\n' '{"do":"launch"}'"#), "\(drive.output)")
        let root = try await ServerProcess.run("wallet", ["--help"])
        #expect(root.exitCode == 0 && root.output.contains("wallet run Tests/Scenarios/"), "\(root.output)")
        #expect(root.output.contains("TERM=dumb"), "\(root.output)")
    }

    @Test("a copy of the device's storage opens nothing without the device and costs no attempt")
    func copiedStorage() async throws {
        let server = try await self.lab.start()
        try await self.phone.setUp(pin: Self.pin)
        let thief = CommandLinePhone(in: self.lab, "thief")
        #expect(try await thief.run("open").exitCode == 0)
        for (name, bytes) in try self.phone.files() {
            try DurableFile.write(bytes, to: "\(thief.home)/app/\(name)")
        }
        // Without a hardware key, then with a key that is registered for another wallet.
        for pins in [[Self.pin], ["864209"]] {
            #expect(try await thief.run("unlock", pins: pins).exitCode == 70)
        }
        let other = CommandLinePhone(in: self.lab, "other")
        try await other.setUp(pin: Self.pin)
        for (name, bytes) in try self.phone.files() {
            try DurableFile.write(bytes, to: "\(other.home)/app/\(name)")
        }
        for command in ["unlock", "show-deletion-code"] {
            #expect(try await other.run(command, pins: [Self.pin]).exitCode == 70)
        }
        #expect(try await self.phone.counted() == 0)
        #expect(await server.terminate() == 0)
    }

    @Test("a home contains no PIN, PIN key or part of a slot's key against which a PIN could be tested")
    func verifiers() async throws {
        let server = try await self.lab.start()
        try await self.phone.setUp(pin: "135790")
        #expect(try await self.phone.run("change-pin", pins: ["135790", Self.pin]).exitCode == 0)
        #expect(try await self.phone.run("unlock", pins: ["864209"]).exitCode == 10)
        let state = try JSONValue(String(decoding: try self.phone.files()["state.json"].orThrow(), as: UTF8.self))
        let salts = try state["registration"]?["pairs"]?.array.map {
            try [UInt8](hex: $0["salt"]?.string ?? "").orThrow()
        }
        var (verifiers, scanner) = ([[UInt8]](), SecretScanner())
        for pin in ["135790", Self.pin, "864209"] { scanner.add("PIN", word: pin) }
        for salt in try salts.orThrow() {
            for pin in ["135790", Self.pin, "864209"] {
                let digits = try PIN(copying: Array(pin.utf8)).orThrow()
                let key = PINKey(pin: digits, salt: SecretBytes(copying: salt))
                verifiers.append(Array(key.publicKey.bytes[1...32]))
                verifiers.append(SlotKeys.part(pin: digits, salt: SecretBytes(copying: salt)).exposedBytes())
            }
        }
        #expect(verifiers.count >= 6)
        for folder in ["app", "device", "."] {
            for (name, bytes) in try self.phone.regularFiles(folder) {
                let text = String(decoding: bytes, as: UTF8.self)
                #expect(scanner.findings(in: text).isEmpty, "\(folder)/\(name)")
                for verifier in verifiers {
                    #expect(Data(bytes).range(of: Data(verifier)) == nil, "\(folder)/\(name)")
                    #expect(!text.contains(verifier.hex), "\(folder)/\(name)")
                    #expect(!text.contains(Data(verifier).base64EncodedString()), "\(folder)/\(name)")
                }
            }
        }
        #expect(await server.terminate() == 0)
    }
}

extension CommandLinePhone {
    /// The regular files in a folder of the home.
    fileprivate func regularFiles(_ folder: String) throws -> [String: [UInt8]] {
        let path = "\(self.home)/\(folder)"
        let names = try DurableFile.names(in: path).filter { !DurableFile.isFolder("\(path)/\($0)") }
        return try Dictionary(
            uniqueKeysWithValues: names.map { ($0, try DurableFile.read("\(path)/\($0)", atMost: 1 << 22)) }
        )
    }
}
