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

/// What scripts and testers rely on, beside what `WalletOutputTests` shows.
@Suite("The wallet's command line")
struct CommandLineTests {
    private static let pin = "024791"

    private let lab: LabUnderTest
    private let phone: TestPhone

    init() async throws {
        self.lab = try await LabUnderTest()
        self.phone = TestPhone(in: self.lab)
    }

    @Test("exit code 12 says that no PIN will ever be judged again, 17 that the app is too old")
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
        #expect(try await TestPhone(in: self.lab, "new").run("setup", pins: [Self.pin]).exitCode == 17)
        #expect(await server.terminate() == 0)
    }

    @Test("exit code 13 says that the wallet was revoked with its deletion code, and its data stays unreadable")
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
        #expect(try await self.phone.run("open").exitCode == 13, "it is remembered where the server is away")
    }

    @Test("a PIN comes from an open descriptor or a file; no option takes it")
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
        #expect(try await self.phone.run("unlock", "--pin", Self.pin).exitCode == 64)
        #expect(try await self.phone.run("unlock", Self.pin).exitCode == 64)
        #expect(try await self.phone.run("unlock", "--pin-fd", "0", pins: [Self.pin]).exitCode == 64)
        #expect(try await self.phone.run("unlock").exitCode == 64, "there is no terminal to ask at")
        #expect(try await self.phone.run("unlock", "--pin-file", "\(file).none").exitCode == 64)
        #expect(try await self.phone.run("unlock", "--pin-fd", "99").exitCode == 64)
        #expect(await server.terminate() == 0)
    }

    @Test("with biometrics turned on commands open the app with them, or past them with the PIN")
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
        #expect(opened.exitCode == 0 && opened.output.contains("UC2.3/1.2a"), "no PIN was asked for: \(opened.output)")
        #expect(try await self.phone.run("change-pin", pins: [Self.pin, "135790"]).exitCode == 0)
        #expect(try await self.phone.run("show-deletion-code", pins: ["135790"]).exitCode == 0)
        #expect(try await self.phone.run("unlock", "--sensor", "reject:1", pins: ["864209"]).exitCode == 10)
        #expect(try await self.phone.run("setup", "--sensor", "match", pins: [Self.pin]).exitCode == 64)
        for sensor in ["reject:1", "cancel"] {
            #expect(try await self.phone.run("unlock", "--sensor", sensor, pins: ["135790"]).exitCode == 0)
        }
        #expect(await server.terminate() == 0)
    }

    @Test("a setup skips a biometric that was not asked for, shows the code, and says where one was not accepted")
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
        let refused = try await TestPhone(in: self.lab, "refused").run(
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

    @Test("the examples of the help are lines that can be copied")
    func help() async throws {
        let drive = try await ServerProcess.run("wallet", ["help", "drive"])
        #expect(drive.exitCode == 0 && drive.output.contains(#"printf '%s\n' '{"do":"launch"}'"#), "\(drive.output)")
        #expect(try await ServerProcess.run("wallet", ["--help"]).output.contains("wallet run Tests/Scenarios/"))
    }

    @Test("a copy of the device's storage opens nothing without the device, and burns no attempt")
    func copiedStorage() async throws {
        let server = try await self.lab.start()
        try await self.phone.setUp(pin: Self.pin)
        let thief = TestPhone(in: self.lab, "thief")
        #expect(try await thief.run("open").exitCode == 0)
        for (name, bytes) in try self.phone.files() {
            try DurableFile.write(bytes, to: "\(thief.home)/app/\(name)")
        }
        // Without any hardware key, and with one of its own that the server attested for another wallet.
        for pins in [[Self.pin], ["864209"]] {
            #expect(try await thief.run("unlock", pins: pins).exitCode == 70)
        }
        let other = TestPhone(in: self.lab, "other")
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

    @Test("nothing in a home is the PIN, its key, its part of a slot's key, or anything else to test a PIN against")
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

extension TestPhone {
    /// The files of a folder of the home, without its folders.
    fileprivate func regularFiles(_ folder: String) throws -> [String: [UInt8]] {
        let path = "\(self.home)/\(folder)"
        let names = try DurableFile.names(in: path).filter { !DurableFile.isFolder("\(path)/\($0)") }
        return try Dictionary(
            uniqueKeysWithValues: names.map { ($0, try DurableFile.read("\(path)/\($0)", atMost: 1 << 22)) }
        )
    }
}
