import Foundation
import HostSystem
import LabFiles
import TestSupport
import Testing

/// `--record` with the real programs: the recorded scenario passes, and contains no typed PIN.
@Suite("Recording a scenario")
struct RecordTests {
    private let lab: LabUnderTest
    private let phone: CommandLinePhone
    private let file: String

    /// The policy of a lab, as in the lab of a scenario.
    private static let plainLab = ["REMOTE_PIN_LOG_FILE": "none"]

    init() async throws {
        self.lab = try await LabUnderTest()
        self.phone = CommandLinePhone(in: self.lab)
        self.file = "\(self.lab.folder)/recorded.yaml"
    }

    private var text: String {
        get throws { String(decoding: try DurableFile.read(self.file, atMost: 1 << 20), as: UTF8.self) }
    }

    /// The recorded PINs in order.
    private func pins() throws -> [String] {
        try self.text.matches(of: /- enter: "([^"]*)"/).map { String($0.1) }
    }

    private func drive(_ lines: [String], _ driven: DrivenPhone) async throws {
        for line in lines {
            let answer = try await driven.answer(to: line)
            #expect(answer["type"]?.string == "done", "\(line): \(answer)")
        }
    }

    @Test("a driven run with simple, wrong and right PINs, a lock and a lost network plays back, with test PINs")
    func drive() async throws {
        let server = try await self.lab.start(Self.plainLab)
        let driven = try DrivenPhone(self.phone, "--record", self.file, "--biometrics", "face", "--platform", "ios")
        try await self.drive(
            [
                #"{"do":"launch"}"#, #"{"do":"tap","action":"skip"}"#, #"{"do":"tap","action":"next"}"#,
                #"{"do":"enter","pin":"222222"}"#, #"{"do":"tap","action":"ok"}"#, #"{"do":"enter","pin":"480517"}"#,
                #"{"do":"enter","pin":"480517"}"#, #"{"do":"tap","action":"enable"}"#,
                #"{"do":"biometric","present":"match"}"#, #"{"do":"tap","action":"next"}"#,
                #"{"do":"tap","action":"written-down"}"#, #"{"do":"background"}"#,
            ],
            driven
        )
        let clock = try await ServerProcess.run(
            "remote-pin-server",
            ["admin", "clock", "advance", "6m", "--lab", self.lab.lab.path]
        )
        #expect(clock.exitCode == 0, "\(clock.output)")
        try await self.drive(
            [
                #"{"do":"resume"}"#, #"{"do":"biometric","present":"cancel"}"#, #"{"do":"look"}"#,
                #"{"do":"enter","pin":"639284"}"#, #"{"do":"tap","action":"close"}"#,
                #"{"do":"enter","pin":"480517"}"#, #"{"do":"confirm","title":"Pay: \u001b[1m","details":"\"1\""}"#,
                #"{"do":"tap","action":"cancel"}"#, #"{"do":"device","set":{"network":"off"}}"#, #"{"do":"end"}"#,
                #"{"do":"launch"}"#, #"{"do":"biometric","present":"match"}"#,
            ],
            driven
        )
        let refused = try await driven.answer(to: #"{"do":"tap","action":"settings"}"#)
        #expect(refused["type"]?.string == "refused")
        try await self.drive([#"{"do":"quit"}"#], driven)
        #expect(await server.terminate() == 0)
        let pins = try self.pins()
        #expect(pins.count == 5 && pins[1] == pins[2] && pins[1] == pins[4] && Set(pins).count == 3, "\(pins)")
        let text = try self.text
        for typed in ["222222", "480517", "639284"] { #expect(!text.contains(typed)) }
        // The pause has the six minutes of the lab's clock, and the time that the machine took.
        let pauses = text.matches(of: /- advance: ([0-9]+)s/).compactMap { Int($0.1) }
        #expect(pauses.contains { $0 >= 360 } && text.contains("- device: {network: off}"), "\(text)")
        #expect(text.contains(#"- confirm: {title: "Pay: \\u{1B}[1m", details: "\"1\""}"#), "\(text)")
        #expect(!text.contains("- tap: settings"), "a refused command is not recorded")
        let steps = text.split(separator: "\n").drop { $0 != "steps:" }.dropFirst()
        let expectations = steps.count { $0.hasPrefix("  - expect: {") }
        let events = steps.count { $0.hasPrefix("  - event: ") }
        #expect(expectations > 15 && steps.count - events <= 2 * expectations + 3, "\(text)")
        let played = try await ServerProcess.run("wallet", ["run", self.file])
        #expect(played.exitCode == 0, "\(played.output)\n\(text)")
        // The expectations are those of this run: another title fails.
        let changed = text.replacing("Wrong PIN, retry", with: "Right PIN")
        #expect(changed != text)
        try DurableFile.write(Array(changed.utf8), to: self.file)
        #expect(try await ServerProcess.run("wallet", ["run", self.file]).exitCode == 1)
    }

    @Test("the end of a block, which no action causes, is recorded as passing time")
    func timers() async throws {
        let server = try await self.lab.start([
            "REMOTE_PIN_LOG_FILE": "none", "REMOTE_PIN_PIN_ROUNDS": "2", "REMOTE_PIN_PIN_ATTEMPTS_PER_ROUND": "1",
            "REMOTE_PIN_PIN_BLOCKS": "[1m]",
        ])
        // The recorder reads the server's settings from its file.
        let configuration = self.lab.lab.configurationFile
        let old = String(decoding: try DurableFile.read(configuration, atMost: 1 << 20), as: UTF8.self)
        let settings = "pin:\n  rounds: 2\n  attempts-per-round: 1\n  blocks: [1m]\n"
        try DurableFile.write(Array(old.replacing("\npin:\n", with: "\n\(settings)").utf8), to: configuration)
        let driven = try DrivenPhone(self.phone, "--record", self.file)
        try await self.drive(
            [
                #"{"do":"launch"}"#, #"{"do":"tap","action":"skip"}"#, #"{"do":"tap","action":"next"}"#,
                #"{"do":"enter","pin":"480517"}"#, #"{"do":"enter","pin":"480517"}"#, #"{"do":"tap","action":"next"}"#,
                #"{"do":"tap","action":"written-down"}"#, #"{"do":"launch"}"#, #"{"do":"enter","pin":"639284"}"#,
            ],
            driven
        )
        _ = try await ServerProcess.run(
            "remote-pin-server",
            ["admin", "clock", "advance", "61s", "--lab", self.lab.lab.path]
        )
        _ = try await driven.next { $0["type"]?.string == "screen" && $0["step"]?.string == "UC2.3/1.3" }.orThrow()
        try await self.drive([#"{"do":"enter","pin":"480517"}"#, #"{"do":"quit"}"#], driven)
        #expect(await server.terminate() == 0)
        let text = try self.text
        #expect(text.contains("server: {pin.rounds: 2, pin.attempts-per-round: 1, pin.blocks: [1m]"), "\(text)")
        let played = try await ServerProcess.run("wallet", ["run", self.file])
        #expect(played.exitCode == 0, "\(played.output)\n\(text)")
    }

    @Test("an existing recording is played on a new phone, then continued, and the whole plays back")
    func continued() async throws {
        let server = try await self.lab.start(Self.plainLab)
        let first = try DrivenPhone(self.phone, "--record", self.file)
        try await self.drive(
            [
                #"{"do":"launch"}"#, #"{"do":"tap","action":"skip"}"#, #"{"do":"tap","action":"next"}"#,
                #"{"do":"enter","pin":"480517"}"#, #"{"do":"enter","pin":"480517"}"#, #"{"do":"tap","action":"next"}"#,
            ],
            first
        )
        _ = try await ServerProcess.run(
            "remote-pin-server",
            ["admin", "clock", "advance", "11s", "--lab", self.lab.lab.path]
        )
        try await self.drive([#"{"do":"tap","action":"written-down"}"#, #"{"do":"quit"}"#], first)
        _ = try await first.next { $0["type"]?.string == "result" }
        let (begun, pin) = (try self.text, try #require(try self.pins().first))
        let second = try DrivenPhone(CommandLinePhone(in: self.lab, "second"), "--record", self.file)
        try await self.drive(
            [
                #"{"do":"launch"}"#, #"{"do":"enter","pin":"639284"}"#, #"{"do":"tap","action":"close"}"#,
                "{\"do\":\"enter\",\"pin\":\"\(pin)\"}", #"{"do":"tap","action":"obtain"}"#,
                "{\"do\":\"enter\",\"pin\":\"\(pin)\"}",
                #"{"do":"link","url":"https://wallet.example.org/link/sharing/1"}"#, #"{"do":"quit"}"#,
            ],
            second
        )
        _ = try await second.next { $0["type"]?.string == "result" }
        #expect(await server.terminate() == 0)
        let (text, pins) = (try self.text, try self.pins())
        #expect(text.hasPrefix(begun) && text.contains("  - expect: {running: false}\n  - launch\n"), "\(text)")
        #expect(pins.count == 5 && pins[2] != pin && pins[3...] == [pin, pin], "\(pins)")
        #expect(!text.contains("639284"))
        let link = "https://wallet.example.org/link/sharing/1"
        #expect(text.contains("\n  - event: {name: link-accepted, kind: sharing, url: \"\(link)\"}\n"), "\(text)")
        let played = try await ServerProcess.run("wallet", ["run", self.file])
        #expect(played.exitCode == 0, "\(played.output)\n\(text)")
    }

    @Test("a recording needs a lab, a new phone, a new file or one that passes, and no hooks")
    func refused() async throws {
        let server = try await self.lab.start(Self.plainLab)
        let outside = CommandLinePhone(in: self.lab, "outside")
        try DurableFile.makeFolder(outside.home)
        let settings = "server: 127.0.0.1:1\nca_file: \(self.lab.lab.authorityFolder)/tls-ca.pem\n"
        try DurableFile.write(Array(settings.utf8), to: "\(outside.home)/wallet.yaml")
        let withoutLab = try await ServerProcess.run(
            "wallet",
            ["drive", "--home", outside.home, "--record", self.file]
        )
        #expect(withoutLab.exitCode == 64 && withoutLab.output.contains("only with a lab"), "\(withoutLab.output)")
        let driving = ["drive", "--lab", self.lab.lab.path, "--record", self.file, "--home"]
        let hooked = try await ServerProcess.run("wallet", driving + ["\(self.lab.folder)/h", "--key-hook", "true"])
        #expect(hooked.exitCode == 64 && hooked.output.contains("hooks"), "\(hooked.output)")
        #expect(!DurableFile.exists(self.file))
        try await self.phone.setUp(pin: "480517")
        let used = try await ServerProcess.run("wallet", driving + [self.phone.home])
        #expect(used.exitCode == 64 && used.output.contains("new phone"), "\(used.output)")
        try DurableFile.write([], to: self.file)
        let existing = try await ServerProcess.run("wallet", driving + ["\(self.lab.folder)/n"])
        #expect(existing.exitCode == 64 && existing.output.contains("cannot be continued"), "\(existing.output)")
        let failing = "case: f\ntitle: t\nsteps:\n  - launch\n  - expect: {screen: UC1.1/1.2}\n"
        try DurableFile.write(Array(failing.utf8), to: self.file)
        let failed = try await ServerProcess.run("wallet", driving + ["\(self.lab.folder)/n"])
        #expect(failed.exitCode == 64 && failed.output.contains("line 5, expect screen"), "\(failed.output)")
        #expect(try self.text == failing)
        #expect(await server.terminate() == 0)
    }
}
