import Foundation
import HostSystem
import LabFiles
import Synchronization
import TestSupport
import Testing

@Suite("Controlling a wallet from another program")
struct DriveTests {
    private static let documents = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../docs").path

    private let lab: LabUnderTest
    private let phone: CommandLinePhone

    init() async throws {
        self.lab = try await LabUnderTest()
        self.phone = CommandLinePhone(in: self.lab)
    }

    @Test("the Python example of docs/testing-guide.md sets a wallet up and enters a wrong PIN")
    func example() async throws {
        let guide = try String(contentsOfFile: Self.documents + "/testing-guide.md", encoding: .utf8)
        let block = try guide.components(separatedBy: "```python\n").dropFirst().first.orThrow()
            .components(separatedBy: "```").first.orThrow()
        #expect(block.split(separator: "\n", omittingEmptySubsequences: false).count <= 31)
        let file = "\(self.lab.folder)/example.py"
        try DurableFile.write(Array(block.utf8), to: file)
        let server = try await self.lab.start()
        let programs = URL(fileURLWithPath: Programs.path("wallet")).deletingLastPathComponent().path
        let run = try await ServerProcess.run(
            "/usr/bin/env",
            [
                "PATH=\(programs):/usr/bin:/bin:/usr/local/bin", "python3", file, self.lab.lab.path, self.phone.home,
            ]
        )
        #expect(run.exitCode == 0, "\(run.output)")
        #expect(run.output.contains("deletion code: "))
        #expect(run.output.contains("Wrong PIN, retry"))
        #expect(try await self.phone.counted() == 1)
        #expect(await server.terminate() == 0)
    }

    @Test("every output line of a long run conforms to the schema, and none contains a PIN, even after invalid lines")
    func everyLine() async throws {
        let schema = try JSONSchema(contentsOf: Self.documents + "/wallet-output.schema.json")
        let server = try await self.lab.start()
        let driven = try DrivenPhone(self.phone, "--biometrics", "fingerprint")
        let outcomes = [
            (#"{"do":"tap","action":"next"}"#, "not-running"), (#"{"do":"look"}"#, "not-running"),
            (#"{"do":"launch","id":1}"#, "done"), (#"{"do":"tap","action":"skipp","id":"x"}"#, "not-offered"),
            (#"{"do":"tap","action":"skip"}"#, "done"), (#"{"do":"tap"}"#, "missing-field"),
            (#"{"do":"enter","pin":"864209"}"#, "no-input"), (#"{"do":"tap","action":"next"}"#, "done"),
            (#"{"do":"enter","pin":864209}"#, "bad-value"), (#"{"do":"enter","pin":"864209""#, "bad-line"),
            (#"{"do":"enter","pin":"864209"#, "bad-line"), (#"["pin","864209"]"#, "bad-line"), ("864209", "bad-line"),
            (#"{"do":"launch","uurl":"https://x"}"#, "unknown-field"),
            (#"{"do":"look","action":"ok"}"#, "unknown-field"),
            (#"{"do":"entr","pin":"864209"}"#, "unknown-command"), (#"{"pin":"864209"}"#, "bad-line"),
            (#"{"do":"enter","pin":"864209864209"}"#, "cancelled"), (#"{"do":"tap","action":"ok"}"#, "done"),
            (#"{ "pin":"111111", "pin" : "864209" , "do":"enter" }"#, "done"),
            (#"{"do":"enter","pin":"864209"}"#, "done"),
            (#"{"do":"biometric","present":"match"}"#, "no-prompt"), (#"{"do":"tap","action":"enable"}"#, "done"),
            (#"{"do":"biometric","present":"matsh"}"#, "bad-value"), (#"{"do":"biometric","present":"match"}"#, "done"),
            (#"{"do":"tap","action":"next"}"#, "done"), (#"{"do":"tap","action":"written-down"}"#, "done"),
            (#"{"do":"device","set":{"network":"of"}}"#, "bad-value"),
            (#"{"do":"device","set":{"app_version":"1.4.0-rc1"}}"#, "bad-value"),
            (#"{"do":"device","set":{"conditions":["lose-next-reply","delay:1"],"sensor":{"reject":2}}}"#, "done"),
            (#"{"do":"device","set":{"conditions":[],"sensor":"ask"}}"#, "done"), (#"{"do":"background"}"#, "done"),
            (#"{"do":"device","set":{"os_version":16.5}}"#, "done"),
            (#"{"do":"device","set":{"model":"x # y: [z"}}"#, "done"),
            (#"{"do":"tap","action":"obtain"}"#, "in-background"), (#"{"do":"resume"}"#, "done"), ("", "bad-line"),
            (#"{"do":"confirm"}"#, "missing-field"), (#"{"do":"confirm","title":" "}"#, "bad-value"),
            (#"{"do":"confirm","title":"Pay \u001b[2J","details":"\u202eTo\nall"}"#, "done"),
            (#"{"do":"confirm","title":"Pay"}"#, "not-offered"), (#"{"do":"enter","pin":"864209"}"#, "done"),
            (#"{"do":"confirm","title":"Pay"}"#, "done"), (#"{"do":"tap","action":"back"}"#, "done"),
            (#"{"do":"session","kind":"disclosure"}"#, "done"), (#"{"do":"end"}"#, "done"),
            (#"{"do":"resume"}"#, "done"),
            (#"{"do":"biometric","present":"mismatch"}"#, "cancelled"), (#"{"do":"tap","action":"close"}"#, "done"),
            (#"{"do":"enter","pin":"111222"}"#, "wrong-pin"), (#"{"do":"tap","action":"close"}"#, "done"),
            (#"{"do":"enter","pin":"86420"}"#, "bad-value"), (#"{"do":"enter","pin":"86420\u0668"}"#, "wrong-pin"),
            (#"{"do":"tap","action":"close"}"#, "done"),
            (#"{"do":"enter","pin":"\u0668\ud835\udfd4\u0664\u0662\u0030\u0669"}"#, "done"), (#"{"do":"end"}"#, "done"),
            (#"{"do":"launch"}"#, "done"), (#"{"do":"biometric","present":"mismatch"}"#, "cancelled"),
            (#"{"do":"tap","action":"close"}"#, "done"),
            (#"{"do":"device","set":{"network":"off"}}"#, "done"), (#"{"do":"enter","pin":"864209"}"#, "no-internet"),
            (#"{"do":"link","url":"https://wallet.example.org/link/login/1","source":"app"}"#, "no-internet"),
            (String(repeating: "x", count: 70_000), "too-long"), (#"{"do":"look"}"#, "no-internet"),
        ]
        for (line, outcome) in outcomes {
            let answer = try await driven.answer(to: line)
            #expect((answer["outcome"] ?? answer["reason"]) == .string(outcome), "\(line.prefix(60)): \(answer)")
        }
        try driven.endInput()
        let result = try await driven.next { $0["type"] == .string("result") }
        #expect(result?["exitCode"] == .integer(0))
        let profile = String(decoding: try self.phone.files("device")["profile.yaml"].orThrow(), as: UTF8.self)
        #expect(profile.contains("x # y: [z") && profile.contains("16.5"), "\(profile)")
        let lines = driven.written.withLock { $0 }
        for line in lines { #expect(schema.findings(in: line).isEmpty, "\(line)") }
        let outcomesOfConfirmations = try lines.map { try JSONValue($0) }.filter { line in
            line["name"] == .string("confirmed") || line["name"] == .string("declined")
        }
        #expect(outcomesOfConfirmations.map { $0["name"]?.string } == ["confirmed", "declined"])
        #expect(outcomesOfConfirmations.first?["values"]?["title"] == .string(#"Pay \u{1B}[2J"#))
        #expect(outcomesOfConfirmations.first?["values"]?["details"] == .string(#"\u{202E}To\u{A}all"#))
        #expect(!lines.joined().contains("864209"))
        #expect(await server.terminate() == 0)
        #expect(!server.output.contains("864209"))
    }

    @Test("a refusal states the mistake and the way out")
    func sentences() async throws {
        let server = try await self.lab.start()
        let driven = try DrivenPhone(self.phone, "--biometrics", "fingerprint")
        for line in [
            #"{"do":"launch"}"#, #"{"do":"tap","action":"skip"}"#, #"{"do":"tap","action":"next"}"#,
            #"{"do":"enter","pin":"864209"}"#, #"{"do":"enter","pin":"864209"}"#, #"{"do":"tap","action":"enable"}"#,
        ] {
            try await driven.answer(to: line)
        }
        for (line, sentence) in [
            (#"{"do":"enter","pin":864209}"#, "`pin` must be a string in quotes"),
            (#"{"do":"device","set":{"network":"of"}}"#, "did you mean `off`?"),
            (#"{"do":"tap","action":"nowhere"}"#, "offers no action; it waits for `biometric`"),
            (#"{"do":"tap","action":["next"]}"#, "`action` must be a string"),
            (#"{"do":"link","url":5}"#, "`url` must be a string"), (#"{"do":7}"#, "`do` must be a string"),
            (#"{"do":"look","id":[1]}"#, "`id` must be a string, a number or a boolean"),
            (#"{"do":"device","set":[1]}"#, "`set` must be an object"),
            (#"{"do":"device","set":{"network":null}}"#, "`set.network` must be a string, a number"),
            (#"{"do":"device","set":{"conditions":[{"a":[]}]}}"#, "`set.conditions` must be"),
            (#"{"do":"device","set":{"conditions":["delay:5","los-next-reply"]}}"#, "did you mean `lose-next-reply`?"),
            (#"{"do":"device","set":{"platform":"ios"}}"#, "cannot be changed"),
            (#"{"do":"enter","pin":"86420"}"#, "does not ask for a PIN"),
        ] {
            let message = try await driven.answer(to: line)["message"]?.string ?? ""
            #expect(message.contains(sentence), "\(line): \(message)")
        }
        try driven.endInput()
        #expect(try await driven.next { $0["type"] == .string("result") } != nil)
        #expect(await server.terminate() == 0)
    }

    @Test(
        "the program knows exactly the commands of docs/wallet-drive.schema.json and suggests the nearest name"
    )
    func commands() async throws {
        let schema = try JSONValue(
            String(contentsOfFile: Self.documents + "/wallet-drive.schema.json", encoding: .utf8)
        )
        let documented = schema["oneOf"]?.array.compactMap { $0["properties"]?["do"]?["const"]?.string } ?? []
        let server = try await self.lab.start()
        let driven = try DrivenPhone(self.phone)
        let refusal = try await driven.answer(to: #"{"do":"lanch","id":7}"#)
        #expect(refusal["nearest"] == .string("launch"))
        #expect(refusal["id"] == .string("7"))
        let known = try refusal["message"]?.string.orThrow().components(separatedBy: "the commands are ").last.orThrow()
        #expect(known?.components(separatedBy: ", ") == documented)
        for command in schema["oneOf"]?.array ?? [] {
            let name = try (command["properties"]?["do"]?["const"]?.string).orThrow()
            let answer = try await driven.answer(to: #"{"do":"\#(name)","iid":1}"#)
            #expect(answer["reason"] == .string("unknown-field") && answer["nearest"] == .string("id"))
            let fields = answer["message"]?.string?.components(separatedBy: "its fields are ").last
            let properties = command["properties"]?.object.keys.filter { $0 != "do" } ?? []
            #expect(fields?.components(separatedBy: ", ").sorted() == properties.sorted(), "\(name)")
        }
        #expect(try await driven.answer(to: #"{"do":"launch"}"#)["do"] == .string("launch"))
        #expect(try await driven.answer(to: #"{"do":"tap","action":"nxt"}"#)["nearest"] == .string("next"))
        #expect(try await driven.answer(to: #"{"do":"quit"}"#)["outcome"] == .string("done"))
        #expect(try await driven.next { $0["type"] == .string("result") } != nil)
        #expect(await server.terminate() == 0)
    }

    @Test("the end of a block, the warning before the lock and the lock are reported without a command")
    func timers() async throws {
        var settings = LabUnderTest.sixteenAttempts
        settings["REMOTE_PIN_PIN_ROUNDS"] = "2"
        settings["REMOTE_PIN_PIN_ATTEMPTS_PER_ROUND"] = "1"
        settings["REMOTE_PIN_PIN_BLOCKS"] = "[1s]"
        let server = try await self.lab.start(settings)
        try await self.phone.setUp(pin: "024791")
        let yaml = "lock_after_inactivity: 1s\nlock_warning_after: 300ms\n"
        try DurableFile.write(Array(yaml.utf8), to: "\(self.phone.home)/wallet.yaml")
        let driven = try DrivenPhone(self.phone)
        try await driven.answer(to: #"{"do":"launch"}"#)
        #expect(try await driven.answer(to: #"{"do":"enter","pin":"111222"}"#)["outcome"] == .string("blocked"))
        #expect(try await driven.next { $0["step"] == .string("UC2.3/1.3") } != nil, "the block ended")
        var warning: JSONValue?
        // A process that was suspended for long may lock without the warning.
        for _ in 0..<10 where warning == nil {
            #expect(try await driven.answer(to: #"{"do":"enter","pin":"024791"}"#)["outcome"] == .string("done"))
            warning = try await driven.next {
                $0["type"] == .string("screen") && $0["step"] == .string("LOCK/1.4") || $0["name"] == .string("locked")
            }
            if warning?["type"] != .string("screen") { warning = nil }
        }
        #expect(warning?["kind"] == .string("prompt"))
        #expect(try await driven.next { $0["name"] == .string("locked") } != nil)
        try driven.endInput()
        #expect(try await driven.next { $0["type"] == .string("result") } != nil)
        #expect(await server.terminate() == 0)
    }

    @Test("a hook that ignores signals or is stopped ends with the wallet", arguments: ["TERM", "STOP"])
    func lastingHook(kind: String) async throws {
        let server = try await self.lab.start()
        let ids = "\(self.lab.folder)/ids"
        let act = kind == "STOP" ? "kill -STOP $$" : "trap '' TERM HUP INT; wait"
        let driven = try DrivenPhone(
            self.phone,
            "--biometrics",
            "face",
            "--platform",
            "ios",
            "--biometric-hook",
            "sleep 600 & echo $! >\(ids); echo $$ >>\(ids); \(act)"
        )
        for line in [
            #"{"do":"launch"}"#, #"{"do":"tap","action":"skip"}"#, #"{"do":"tap","action":"next"}"#,
            #"{"do":"enter","pin":"864209"}"#, #"{"do":"enter","pin":"864209"}"#,
        ] { _ = try await driven.answer(to: line) }
        try driven.send(#"{"do":"tap","action":"enable"}"#)
        @Sendable func processes() -> [Int32] {
            let text = (try? DurableFile.readText(ids, atMost: 64)) ?? ""
            return text.split(separator: "\n").compactMap { Int32($0) }
        }
        try #require(await eventually { processes().count == 2 })
        defer { for process in processes() { kill(process, SIGKILL) } }
        driven.signal(SIGTERM)
        for process in processes() { #expect(await eventually { !isRunning(process) }) }
        #expect(await server.terminate() == 0)
    }

    @Test("hooks answer prompts and the issuer's requests, and a failing hook opens nothing")
    func hooks() async throws {
        let server = try await self.lab.start()
        let driven = try DrivenPhone(
            self.phone,
            "--biometrics",
            "face",
            "--biometric-hook",
            "cat >/dev/null; echo '{\"result\":\"confirmed\"}'",
            "--issuer-hook",
            "exit 1"
        )
        for line in [
            #"{"do":"launch"}"#, #"{"do":"tap","action":"skip"}"#, #"{"do":"tap","action":"next"}"#,
            #"{"do":"enter","pin":"024791"}"#, #"{"do":"enter","pin":"024791"}"#,
        ] { #expect(try await driven.answer(to: line)["outcome"] == .string("done")) }
        #expect(try await driven.answer(to: #"{"do":"tap","action":"enable"}"#)["step"] == .string("UC2.1/1.5"))
        #expect(try await driven.answer(to: #"{"do":"tap","action":"next"}"#)["step"] == .string("UC2.1/1.6"))
        #expect(try await driven.answer(to: #"{"do":"tap","action":"written-down"}"#)["step"] == .string("UC3.1/1.1"))
        #expect(try await driven.answer(to: #"{"do":"tap","action":"obtain"}"#)["step"] == .string("UC3.1/1.1"))
        try driven.endInput()
        #expect(try await driven.next { $0["type"] == .string("result") } != nil)
        #expect(await server.terminate() == 0)
    }

    @Test("a phone is configured by a file, options and --set, and invalid values are rejected with the nearest name")
    func profiles() async throws {
        let server = try await self.lab.start()
        let file = "\(self.lab.folder)/profile.yaml"
        try DurableFile.write(Array("platform: ios\nbiometrics: face\n".utf8), to: file)
        #expect(try await self.phone.run("open", "--profile", file, "--set", "model=Test phone").exitCode == 0)
        let profile = try self.phone.files("device")["profile.yaml"].orThrow()
        let text = String(decoding: profile, as: UTF8.self)
        #expect(text.contains("biometrics: face") && text.contains("Test phone"))
        #expect(try await self.phone.run("open", "--model", "x # y").exitCode == 0)
        let option = String(decoding: try self.phone.files("device")["profile.yaml"].orThrow(), as: UTF8.self)
        #expect(option.contains("x # y"), "\(option)")
        let wrong = try await self.phone.run("open", "--network", "unreachabel")
        #expect(wrong.exitCode == 64 && wrong.output.contains("unreachable"))
        #expect(try await self.phone.run("open", "--platform", "android").exitCode == 64)
        #expect(try await self.phone.run("open", "--language", "nl").output.contains("Introductie"))
        #expect(try await CommandLinePhone(in: self.lab, "new").run("open", "--network", "unreachable").exitCode == 16)
        #expect(try await self.phone.run("open", "--language", "de").exitCode == 64)
        #expect(await server.terminate() == 0)
    }
}
