import ConfigText
import Foundation
import HostSystem
import ServerSettings
import TestSupport
import Testing

@testable import Scenarios

@Suite("The format of scenarios")
struct FormatTests {
    /// The problems of a file, each as `line key message`.
    private func problems(_ yaml: String) -> [String] {
        do throws(ConfigError) {
            _ = try Scenario(yaml: yaml, path: "s.yaml")
            return []
        } catch {
            return error.problems.map { "\($0.line ?? 0) \($0.key) \($0.message)" }
        }
    }

    /// A file of these steps, the first one in line 4.
    private func steps(_ steps: String) -> String { "case: X1\ntitle: t\nsteps:\n" + steps }

    @Test(
        "a wrong name is reported with its line, its key and the nearest valid name",
        arguments: [
            ("- lauch", "4 steps.lauch is not a known step; did you mean `launch`?"),
            ("- launch\n- tap: skipp", "5 steps.tap must be a known action, not `skipp`; did you mean `skip`?"),
            ("- expect: {screne: UC2.3/1.3}", "4 steps.expect.screne is not a known key; did you mean `screen`?"),
            (
                "- expect: {screen: UC2.3/1.33}",
                "4 steps.expect.screen must be a known step, not `UC2.3/1.33`; did you mean `UC2.3/1.3`?"
            ),
            (
                "- trace: [UC2.33/1.3c]",
                "4 steps.trace must be a known step, not `UC2.33/1.3c`; did you mean `UC2.3/1.3c`?"
            ),
            (
                "- biometric: [match, mismatsh]",
                """
                4 steps.biometric must be by-device, match, mismatch, passcode, wrong-passcode or cancel, not \
                `mismatsh`; did you mean `mismatch`?
                """
            ),
            ("- device: {platfrom: ios}", "4 steps.device.platfrom is not a known key; did you mean `platform`?"),
            (
                "- expect: {screen: PF2.8/2.1, values: {attemptLeft: 3}}",
                "4 steps.expect.values the screen PF2.8/2.1 has no value `attemptLeft`; did you mean `attemptsLeft`?"
            ),
            (
                "- expect: {screen: UC1.1/1.1, values: {attemptsLeft: 3}}",
                "4 steps.expect.values the screen UC1.1/1.1 has no value `attemptsLeft`; known are attemptHint, "
                    + "banner, notice, tampering, wrongPINs, wrongPINsSinceMs"
            ),
            (
                "- expect one of: [{screen: UC2.3/1.3}, {values: {bannr: x}}]",
                "4 steps.expect one of.values no screen has a value `bannr`; did you mean `banner`?"
            ),
            (
                "- keep: {code: deletioncode}",
                "4 steps.keep.code must be a known value of a screen, not `deletioncode`; did you mean `deletionCode`?"
            ),
            (
                "- keep: {code: deletionCode}\n- link: '${cod}'",
                "5 steps has no value for `${cod}`; did you mean `code`?"
            ),
            ("- launch: 'https://a.example/${x}'\n- keep: {x: cause}", "4 steps has no value for `${x}`"),
            ("- refused: {enter: '${nobody}'}", "4 steps has no value for `${nobody}`"),
        ]
    )
    func nearest(step: String, problem: String) {
        #expect(self.problems(self.steps(step)) == [problem])
    }

    @Test(
        "a value with a wrong form is rejected",
        arguments: [
            "- advance: soon", "- advance: 60", "- launch: [a, b]", "- enter: {pin: 1}", "- kill app: {at_write: 0}",
            "- stop server: now", "- server: {attempts_left: many}", "- expect: {locked: perhaps}", "- expect: screen",
            "- safe biometric unlock: 101%", "- safe biometric unlock: maybe",
            "- update policy: [{below: 2.x, say: block}]",
            "- set up: {}", "- for each: {name: n, in: [1]}", "- tap: next\n  enter: '1'", "- [launch]",
            "- expect: {values: {code: '/[/'}}", "- revoke recovery code: ''",
            "- revoke recovery code: José-1", "- remove from deny list: 'person-77 '",
            "- expect: {values: {attemptsLeft: 9..1}}", "- update policy: [{say: block, from: 2.0, below: 1.9}]",
            "- update policy: [{say: block, below: 1.2.3.4.5}]", "- wallet: {lock_after_inactivity: 0s}",
            "- wallet: {lock_after_background: 40d}", "- wallet: {link_base: nowhere}",
            "- wallet: {product: \"a\\eb\"}",
            "- wallet: {lock_after_inactivity: 5m, lock_warning_after: 5m}", "- start server: {pin.blocks: [40d]}",
            "- device: {os_patch_level: 202699}", "- device: {vendor_patch_level: 20269999}",
            "- device: {app_version: 1.4.0-rc1}", "- start server: {session.lifetime: 2d}",
            "- for each: {name: [a, b], in: [[1, 2], [3]], do: [launch]}",
            "- expect all: [launch]", "- expect all: [expect: {screen: x}]",
        ]
    )
    func wrongForm(step: String) {
        #expect(self.problems(self.steps(step)).count == 1, "\(self.problems(self.steps(step)))")
    }

    @Test(
        "a name or file that leads out of the folder is rejected",
        arguments: [
            "- phone: ../x", "- phone: /tmp/x", "- phone: {name: ../../x}", "- phone: .x", "- phone: a/b",
            "- phone: 'a b'", "- phone: ''", "- phone: \(String(repeating: "a", count: 65))",
            "- keep: {x: step}\n- phone: '../${x}'", "- for each: {name: n, in: [..], do: [phone: '${n}/x']}",
            "- clone phone: ../x", "- back up app: ../x", "- restore backup: ../../first/app",
            "- expect screen: /tmp/x.txt", "- expect screen: ../x.txt", "- expect screen: a/../../x.txt",
            "- include: /tmp/x.steps.yaml", "- include: {file: /tmp/x.steps.yaml}",
        ]
    )
    func outside(step: String) {
        let found = self.problems(self.steps(step))
        #expect(found.contains { $0.contains(step.contains("include") ? "a relative path" : "must be a") }, "\(found)")
        #expect(!self.problems(self.steps("- phone: a-B_9.x\n- expect screen: s..t/x..txt")).contains { $0 != "" })
        #expect(!self.problems("case: '../${x}'\ntitle: t\nsteps: [launch]").isEmpty)
    }

    @Test("a phone does not have the name of the lab's folder")
    func nameOfLab() {
        for step in ["- phone: lab", "- phone: {name: lab}", "- clone phone: lab", "- phone: admin.sock"] {
            let found = self.problems(self.steps(step))
            #expect(found.count == 1 && found.allSatisfy { $0.contains("the lab uses the name") }, "\(step): \(found)")
        }
    }

    @Test("all problems are reported at once, in the order of the lines")
    func all() {
        let yaml = """
            case: a b
            titel: t
            server: {pin.round: 2, pin.blocks: [1x]}
            device: {sensor: matsh}
            steps:
            - lauch
            - tap: skip
            - enter: "024791"
            - expect: {kind: dialog}
            """
        let lines = self.problems(yaml).map { $0.prefix { $0 != " " } }
        #expect(lines == ["1", "1", "2", "3", "3", "4", "6", "9"])
    }

    @Test("a known failure has a reason, and a time limit is at least a second")
    func marks() throws {
        for mark in ["known failure:", "known failure: [a, b]", "time limit: 0s", "time limit: 999ms", "time limit: 2"]
        {
            #expect(self.problems("case: X\ntitle: t\n\(mark)\nsteps: [launch]").count == 1, "\(mark)")
        }
        let yaml = "case: X\ntitle: t\nknown failure: '#1'\ntime limit: 90s\nsteps: [launch]"
        let scenario = try Scenario(yaml: yaml, path: "s.yaml")
        #expect(scenario.knownFailure == KnownFailure(reason: "#1", line: 3) && scenario.timeLimit == .seconds(90))
        #expect(try Scenario(yaml: self.steps("- launch"), path: "s.yaml").timeLimit == ScenarioTable.timeLimit)
    }

    @Test("aliases are rejected before they are resolved", arguments: BillionLaughs.texts)
    func aliases(text: String) {
        let found = self.problems("case: X\n" + text)
        #expect(found.count == 1 && found.first?.hasPrefix("3 ") == true, "\(found)")
    }

    @Test("a file that cannot be read is named once")
    func missing() {
        let error = #expect(throws: ConfigError.self) { try Scenario(file: "missing.yaml") }
        #expect(error.map { "\($0)".ranges(of: "missing.yaml").count } == 1, "\(error.debugDescription)")
    }

    @Test("a text that is not YAML is reported with its line")
    func syntax() {
        let syntax = self.problems("case: X\ntitle: [a, b\nsteps: [launch]")
        #expect(syntax.count == 1 && syntax.first?.hasPrefix("3 ") == true, "\(syntax)")
        #expect(self.problems("case: X\ncase: Y").count == 1)
        #expect(self.problems("").count == 3, "case, title and steps are needed")
    }

    @Test("`for each` repeats its steps for each value, and reports a problem in them once")
    func forEach() throws {
        let yaml = self.steps("- for each: {name: n, in: [1, 2, 3], do: [{kill app: {at_write: \"${n}\"}}, launch]}")
        let scenario = try Scenario(yaml: yaml, path: "s.yaml")
        #expect(
            scenario.steps.map(\.text) == [
                "kill app at_write: 1", "launch", "kill app at_write: 2", "launch", "kill app at_write: 3", "launch",
            ]
        )
        #expect(self.problems(self.steps("- for each: {name: n, in: [1, 2], do: [lauch]}")).count == 1)
    }

    @Test(
        "a scenario without a step is rejected",
        arguments: ["[]", "[launch, {for each: {name: n, in: [], do: [launch]}}]"]
    )
    func noSteps(steps: String) {
        let found = self.problems("case: X\ntitle: t\nsteps: \(steps)")
        #expect(found.count == 1 && found.first?.contains("without a step") == true, "\(found)")
    }

    @Test("the row of a table with another number of values than the table has names is named")
    func tableRow() {
        let found = self.problems(
            self.steps("- for each:\n    name: [a, b]\n    in:\n    - [1, 2]\n    - [3]\n    do: [launch]")
        )
        #expect(found == ["8  `for each` has 2 names, and this row has 1 value"])
    }

    @Test(
        "repetitions and placeholders that exceed any memory are rejected at once",
        arguments: [8, 60]
    )
    func growth(depth: Int) {
        let list = depth == 8 ? "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]" : "[0, 1]"
        let nested = (0..<depth).reduce("launch") { step, level in
            "{for each: {name: n\(level), in: \(list), do: [\(step)]}}"
        }
        let names = (0..<depth * 4).map { "n\($0)" }.joined(separator: ", ")
        let values = (1...depth * 4).map { "'${n\($0)}${n\($0)}'" }.joined(separator: ", ")
        let chain = "{for each: {name: [\(names)], in: [[\(values)]], do: [{link: '${n0}'}]}}"
        for step in [nested, chain] {
            let found = self.problems(self.steps("- \(step)"))
            #expect(found.count == 1 && found.first?.contains("longer than") == true, "\(found)")
        }
    }

    @Test("files that include others again and again are rejected at once")
    func includes() throws {
        let folder = TemporaryFolder()
        for level in 0..<30 {
            let next = "{include: \(level + 1).steps.yaml}"
            _ = try folder.write("steps: [\(level == 29 ? "launch" : "\(next), \(next)")]\n", to: "\(level).steps.yaml")
        }
        let file = try folder.write(self.steps("- include: 0.steps.yaml"), to: "s.yaml")
        let error = #expect(throws: ConfigError.self) { try Scenario(file: file) }
        #expect(error?.description.contains("more than 10000 steps") == true, "\(error.debugDescription)")
    }

    @Test("a byte order mark is ignored, and lines keep their numbers")
    func byteOrderMark() throws {
        let text = self.steps("- launch\n")
        #expect(try Scenario(yaml: "\u{FEFF}" + text, path: "s.yaml").caseID == "X1")
        #expect(self.problems("\u{FEFF}" + self.steps("- lauch")).first?.hasPrefix("4 ") == true)
    }

    @Test("JSON is read, with the two escapes that it has for one character")
    func surrogates() throws {
        let yaml = #"{"case": "X", "title": "a \ud83d\ude00 \\ud83d", "steps": ["launch"]}"#
        #expect(try Scenario(yaml: yaml, path: "s.yaml").title == #"a 😀 \ud83d"#)
        #expect(self.problems(#"{"case": "X", "title": "\ud83d", "steps": ["launch"]}"#).count == 1)
    }

    @Test("titles, steps and messages have no characters that a terminal interprets")
    func harmless() throws {
        let yaml = "case: X1\ntitle: \"Red \\e[31mtitle\\0\\u202E\\n\"\nsteps: [{expect: {title: \"a\\e[1m\"}}]"
        let scenario = try Scenario(yaml: yaml, path: "s.yaml")
        #expect(scenario.title == #"Red \u{1B}[31mtitle\u{0}\u{202E}\u{A}"#)
        #expect(scenario.steps.map(\.text) == [#"expect title: a\u{1B}[1m"#])
        let found = self.problems(self.steps("- \"la\\euch\"\n- tap: \"s\\ekip\""))
        #expect(found.count == 2 && !found.joined().contains("\u{1B}") && found.joined().contains(#"la\u{1B}uch"#))
    }

    @Test("a PIN keeps its leading zero with and without quotes")
    func zero() throws {
        for text in ["024791", "\"024791\"", "'024791'"] {
            let scenario = try Scenario(yaml: self.steps("- enter: \(text)"), path: "s.yaml")
            guard case .enter(["024791"]) = try #require(scenario.steps.first).action else {
                Issue.record("\(text) is read as something else")
                continue
            }
        }
    }

    @Test("the settings have the server's names, and values that it accepts")
    func settings() throws {
        let known = Set(SettingTable.all.map(\.name))
        for field in ServerTable.settings { #expect(known.contains(field.name), "\(field.name)") }
        #expect(LabServer.variable("pin.attempts-per-round") == "REMOTE_PIN_PIN_ATTEMPTS_PER_ROUND")
        let yaml =
            "case: X\ntitle: t\nserver: {pin.blocks: [1m, 2h], features.deletion-code: off, pin.rounds: 3}\n"
            + "steps: [launch]"
        let scenario = try Scenario(yaml: yaml, path: "s.yaml")
        #expect(scenario.server == ["pin.blocks": "[1m, 2h]", "features.deletion-code": "false", "pin.rounds": "3"])
    }

    @Test("a scenario's settings are accepted if and only if the server accepts them")
    func sameAsServer() {
        let values: [String: [String]] = [
            "pin.rounds": ["0", "1", "4", "16", "17", "x"], "pin.attempts-per-round": ["0", "1", "16", "17"],
            "pin.blocks": ["[]", "[0s]", "[365d]", "[366d]", "[40d]", "[1m, 2m, 3m]", "[1m, 2m, 3m, 4m]", "[1x]"],
            "features.deletion-code": ["true", "no", "perhaps"],
            "session.lifetime": ["999ms", "1s", "1d", "2d"], "enrollment.token-lifetime": ["0s", "1s", "1h", "61m"],
            "enrollment.unopened-lifetime": ["59s", "60s", "5m", "30d", "31d"],
            "limits.idle-without-session": ["0s", "1s", "24h", "25h"], "limits.idle-with-session": ["0s", "1s", "2d"],
            "update.android-minimum": ["1.4", "1.4.", "1234567", "1.2.3.4.5"], "update.ios-notify": ["2.0.0", "v2"],
            "android.security-level": ["tee", "strongbox", "software"],
            "android.patch-level": ["2026-10", "2026-10-05", "2026-13", "2026-02-30", "none", "202610"],
            "ios.environments": ["[production]", "[development, production]", "[other]", "[]"],
        ]
        for (name, texts) in values {
            for text in texts { self.compare("\(name): \(text)", [name: text]) }
        }
        for (rounds, blocks) in [("1", "[]"), ("1", "[1m]"), ("2", "[1m]"), ("3", "[1m, 2m]"), ("3", "[1m, 2m, 3m]")] {
            self.compare("\(rounds) \(blocks)", ["pin.rounds": rounds, "pin.blocks": blocks])
        }
        self.compare("lifetimes", ["enrollment.token-lifetime": "1h", "enrollment.unopened-lifetime": "59m"])
        let server = "case: X\ntitle: t\nserver: {enrollment.token-lifetime: 10m}\nsteps:\n"
        for settings in ["pin.rounds: 1", "enrollment.unopened-lifetime: 5m"] {
            let found = self.problems(server + "- stop server\n- start server: {\(settings)}")
            #expect(found.count == 1 && found.allSatisfy { $0.hasPrefix("6") }, "\(settings): \(found)")
        }
        #expect(self.problems(server + "- stop server\n- start server: {pin.rounds: 2, pin.blocks: [1m]}").isEmpty)
    }

    private func compare(_ what: String, _ settings: [String: String]) {
        let flow = settings.map { "\($0): \($1)" }.joined(separator: ", ")
        let found = self.problems("case: X\ntitle: t\nserver: {\(flow)}\nsteps: [launch]")
        let needed = "tls: {certificate: server.pem, key: server.key}\nios: {apps: [ABCDE12345.org.example.wallet]}\n"
        let file = ConfigFile(path: "server.yaml", folder: "/etc/pin", text: needed)
        var rejected = ""
        do throws(ConfigError) {
            _ = try ServerSettings(file: file, flags: settings.map { ($0, $1) }, currentFolder: "/")
        } catch {
            rejected = error.description
        }
        #expect(found.isEmpty == rejected.isEmpty, "\(what): \(found), the server: \(rejected)")
    }

    @Test("every scenario of the repository is valid, has its case's name, and checks trace, text and server")
    func repository() throws {
        let folder = Repository.path("Tests/Scenarios")
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder)
            .filter { Scenario.isScenario(file: "/\($0)") }
        #expect(names.count > 50)
        for name in names {
            let scenario = try Scenario(file: "\(folder)/\(name)")
            #expect("/\(name)".hasSuffix("/\(scenario.caseID).yaml"))
            let actions = (scenario.steps + scenario.tearDown).map(\.action).flatMap { action in
                if case .expectAll(let expectations) = action { expectations } else { [action] }
            }
            #expect(actions.contains { if case .expectTrace = $0 { true } else { false } }, "\(name) asserts no trace")
            #expect(actions.contains { if case .expectServer = $0 { true } else { false } }, "\(name) asks no server")
            let hasText = actions.contains {
                guard case .expectScreen(let screen) = $0 else { return false }
                return screen["text"] != nil || screen["title"] != nil
            }
            #expect(hasText, "\(name) asserts no text")
        }
    }

    @Test("every screen of docs/screens.md is in a file that a test compares, and the files have no other")
    func screens() throws {
        let folder = Repository.path("Tests/Scenarios")
        var files: Set<String> = []
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
            guard Scenario.isScenario(file: "/\(name)") else { continue }
            for step in try Scenario(file: "\(folder)/\(name)").steps {
                if case .expectScreenOf(let file) = step.action {
                    files.insert(URL(fileURLWithPath: file).standardizedFileURL.path)
                }
            }
        }
        let all = try FileManager.default.subpathsOfDirectory(atPath: "\(folder)/screens")
        #expect(files == Set(all.map { "\(folder)/screens/\($0)" }))
        var found: Set<String> = []
        for file in files {
            let text = try DurableFile.readText(file, atMost: 1 << 22)
            let headings = text.matches(of: #/\n== ([^ ]+) /#).map { String($0.1) }
            let counts = Dictionary(grouping: headings) { $0 }.mapValues(\.count)
            #expect(counts.values.allSatisfy { $0 == 4 }, "\(file): each screen in two languages and at two sizes")
            found.formUnion(headings)
        }
        let screens = try Repository.text("docs/screens.md").matches(of: #/\n\| `([A-Z0-9.]+/[0-9a-z.]+)`/#)
        #expect(found == Set(screens.map { String($0.1) }))
    }

    @Test("the JSON schema in docs is generated from the table and contains every step")
    func schema() throws {
        #expect(try Repository.text("docs/scenario.schema.json") == ScenarioSchema.text, "wallet run --schema")
        let object = try JSONSerialization.jsonObject(with: Data(ScenarioSchema.text.utf8))
        let root = try #require(object as? [String: Any])
        let properties = try #require(root["properties"] as? [String: Any])
        #expect(Set(properties.keys) == Set(ScenarioTable.root.map(\.name)))
        for field in StepTable.all { #expect(ScenarioSchema.text.contains("\"\(field.name)\"")) }
    }

    @Test("the reference of keys in the testing guide is generated from the table")
    func keys() throws {
        #expect(try Repository.text("docs/testing-guide.md").contains(ScenarioManual.markdown), "wallet run --keys")
    }
}

/// Files of the repository, located relative to this file.
enum Repository {
    static func path(_ path: String, file: String = #filePath) -> String {
        URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent(path).path
    }

    static func text(_ path: String) throws -> String {
        String(decoding: try DurableFile.read(Self.path(path), atMost: 1 << 22), as: UTF8.self)
    }
}
