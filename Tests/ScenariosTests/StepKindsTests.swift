import ConfigText
import HostSystem
import TestSupport
import Testing

@testable import Scenarios

/// Each test uses a separate real server over TLS.
@Suite("Steps beyond the normal use of one phone")
struct StepKindsTests {
    private let folder = TemporaryFolder()

    /// Plays a file's text, written to a folder with further files.
    private func play(
        _ steps: String,
        with files: [String: String] = [:],
        updating updatesScreens: Bool = false
    ) async throws -> ScenarioResult {
        let scenario = try self.scenario(steps, with: files)
        let runner = ScenarioRunner(
            .ownLabs(serverBinary: Programs.path("remote-pin-server")),
            jobs: 1,
            parentFolder: self.folder.path,
            updatesScreens: updatesScreens
        )
        return try #require(await runner.run([scenario]).first)
    }

    /// A scenario of steps, the first one in line 4.
    private func scenario(_ steps: String, with files: [String: String] = [:]) throws -> Scenario {
        let folder = "\(self.folder.path)/files"
        try DurableFile.makeFolder(folder)
        for (name, text) in files { try DurableFile.write(Array(text.utf8), to: "\(folder)/\(name)") }
        try DurableFile.write(Array("case: X\ntitle: t\nsteps:\n\(steps)".utf8), to: "\(folder)/x.yaml")
        return try Scenario(file: "\(folder)/x.yaml")
    }

    private func problems(_ steps: String, with files: [String: String]) -> String {
        do {
            _ = try self.scenario(steps, with: files)
            return ""
        } catch {
            return "\(error)"
        }
    }

    @Test(
        "steps that cannot be executed fail with their reason",
        arguments: [
            ("- clone phone: first", "exists already"), ("- restore backup: x", "has no backup x"),
            ("- back up app: x\n", "no data"), ("- thaw server", "not frozen"),
            ("- freeze server\n- freeze server", "is frozen"), ("- freeze server\n- stop server", "is frozen"),
            ("- freeze server\n- server: {state: open}", "unknown"),
            ("- freeze server\n- revoke solution", "is frozen"), ("- stop server\n- freeze server", "not running"),
            ("- enroll: face", "no sensor"), ("- device: {passcode: false}\n- enroll: face", "without a passcode"),
            ("- start server: {session.lifetime: 1h}", "running already"),
        ]
    )
    func impossible(steps: String, reason: String) async throws {
        guard case .failed(let failure) = try await self.play(steps).outcome else {
            Issue.record("it passed: \(steps)")
            return
        }
        #expect("\(failure.message) \(failure.differences)".contains(reason), "\(failure)")
    }

    @Test("a refused action passes if the app refuses it, and no other failure counts as a refusal")
    func refused() async throws {
        let passed = try await self.play(
            "- refused: {tap: skip}\n- launch\n- refused: {enter: '024791'}\n- refused: {confirm: {title: Pay}}"
        )
        #expect(passed.outcome == .passed, "\(passed.outcome)")
        for (steps, reason) in [
            ("- launch\n- refused: {tap: skip}", "did not refuse"),
            ("- launch\n- refused: {confirm: {title: ' '}}", "must not be blank"),
        ] {
            guard case .failed(let failure) = try await self.play(steps).outcome else {
                Issue.record("it passed: \(steps)")
                continue
            }
            #expect(failure.message.contains(reason), "\(failure.message)")
        }
    }

    @Test("one of several screens is enough, and the nearest is reported if none is right")
    func oneOf() async throws {
        let passed = try await self.play(
            "- launch\n- expect one of: [{screen: UC1.1/1.2}, {screen: UC1.1/1.1, locked: true}]"
        )
        #expect(passed.outcome == .passed, "\(passed.outcome)")
        let failed = try await self.play(
            "- launch\n- expect one of: [{screen: UC1.1/1.2, title: x}, {screen: UC1.1/1.1, locked: false}]"
        )
        guard case .failed(let failure) = failed.outcome else {
            Issue.record("it passed")
            return
        }
        #expect(failure.message.hasPrefix("none of the 2") && failure.differences.map(\.what) == ["locked"])
        #expect(try await self.play("- launch\n- expect one of: []").hasFailed)
    }

    @Test("all expectations are compared, and the report has the differences from each of them")
    func all() async throws {
        let passed = try await self.play(
            "- launch\n- expect all: [{expect: {screen: UC1.1/1.1}}, {trace: {contains: [UC1.1/1.1]}}, {event: none}]"
        )
        #expect(passed.outcome == .passed, "\(passed.outcome)")
        let failed = try await self.play(
            """
            - set up: {pin: "024791"}
            - expect all:
                - expect: {screen: UC3.1/1.1, title: x}
                - server: {state: blocked, round: 1, revoked: no}
                - event: store-opened
            """
        )
        guard case .failed(let failure) = failed.outcome else {
            Issue.record("it passed")
            return
        }
        #expect(failure.line == 5 && failure.differences.map(\.what) == ["title", "state", "event"], "\(failure)")
        #expect(failure.message.contains("the screen is not") && failure.message.contains("did not receive"))
    }

    @Test("events are compared one after the other, and one that no step names is found by `none`")
    func events() async throws {
        let steps = """
            - set up: {pin: "024791", pid: true}
            - link: https://wallet.example.org/link/sharing/1
            - link: https://wallet.example.org/link/issuance/2
            - event: {name: link-accepted, kind: sharing}
            - event: {name: link-accepted, kind: issuance}
            - event: none
            """
        #expect(try await self.play(steps).outcome == .passed)
        let left = try await self.play(
            steps.replacing("- event: {name: link-accepted, kind: issuance}\n- event: none", with: "- event: none")
        )
        let expected = ScenarioResult.Difference(what: "events", expected: "none", seen: "link-accepted")
        #expect(left.outcome.failure?.differences == [expected], "\(left.outcome)")
    }

    @Test("whole screens in each language and size are written, compared row by row, and the same in each run")
    func screens() async throws {
        let steps = """
            - device: {biometrics: face}
            - launch
            - tap: [skip, next]
            - enter: ["024791", "024791"]
            - tap: skip
            - tap: next
            - expect screen: s/code.txt
            - tap: help
            - expect screen: s/code.txt
            """
        let file = "\(self.folder.path)/files/s/code.txt"
        let missing = try await self.play(steps).outcome.failure
        #expect(missing?.line == 10 && missing?.message.contains("--update") == true, "\(missing.debugDescription)")
        #expect(missing?.differences.map(\.what) == ["en 40x12", "en 80x24", "nl 40x12", "nl 80x24"])
        #expect(try await self.play(steps, updating: true).outcome == .passed)
        let text = try DurableFile.readText(file, atMost: 1 << 20)
        let headings = text.split(separator: "\n").filter { $0.hasPrefix("== ") }
        let variants = ["en 40x12", "en 80x24", "nl 40x12", "nl 80x24"]
        #expect(headings == ["UC2.1/1.6", "UC2.1/1.6b"].flatMap { step in variants.map { "== \(step) \($0)" } })
        #expect(text.contains("deletion code") && text.contains("verwijdercode"))
        #expect(text.contains("x x x x - x x x x"), "a code that differs in each run is masked")
        #expect(try await self.play(steps).outcome == .passed)
        #expect(try await self.play(steps, updating: true).outcome == .passed)
        #expect(try DurableFile.readText(file, atMost: 1 << 20) == text, "the same screens give the same file")
        try DurableFile.write(Array(text.replacing("verwijdercode", with: "vervijdercode").utf8), to: file)
        let changed = try #require(try await self.play(steps).outcome.failure)
        #expect(changed.line == 10 && changed.differences.allSatisfy { $0.what.hasPrefix("nl ") }, "\(changed)")
        #expect(changed.differences.first?.expected.contains("vervijdercode") == true)
        let outside = try await self.play("- expect screen: s/none.txt", updating: true)
        #expect(outside.hasFailed && !DurableFile.exists("\(self.folder.path)/files/s/none.txt"))
    }

    @Test("a table has several columns, and a row without a value for each name is rejected")
    func table() throws {
        let rows = "[[111222, PF2.8/2.1], [024791, UC7.1/1.1]]"
        let steps = "[{enter: '${pin}'}, {expect: {screen: '${screen}'}}]"
        let scenario = try self.scenario("- for each: {name: [pin, screen], in: \(rows), do: \(steps)}")
        #expect(
            scenario.steps.map(\.text) == [
                "enter 111222", "expect screen: PF2.8/2.1", "enter 024791", "expect screen: UC7.1/1.1",
            ]
        )
        for wrong in ["[[111222]]", "[111222]", "[[1, 2, 3]]"] {
            let yaml = "- launch\n- for each: {name: [pin, screen], in: \(wrong), do: \(steps)}"
            #expect(self.problems(yaml, with: [:]).contains("x.yaml"))
        }
    }

    @Test("the steps of another file are executed with its values, and a failure names both places")
    func include() async throws {
        let file = "steps:\n- tap: '${action}'\n- for each: {name: n, in: [1], do: [tap: '${action}']}"
        let steps = "- launch\n- include: {file: two.steps.yaml, with: {action: next}}\n- expect: {screen: UC1.1/1.3}"
        #expect(try await self.play(steps, with: ["two.steps.yaml": file]).outcome == .passed)
        let wrong = "- launch\n- include: {file: two.steps.yaml, with: {action: log-out}}"
        guard case .failed(let failure) = try await self.play(wrong).outcome else {
            Issue.record("it passed")
            return
        }
        #expect(failure.line == 5 && failure.step == "two.steps.yaml:2 tap log-out")
    }

    @Test(
        "a wrong file of steps is reported",
        arguments: [
            ("steps: [lauch]", "a.steps.yaml:1: `steps.lauch` is not a known step; did you mean `launch`?"),
            ("steps: []", "is without a step"), ("step: [launch]", "is not a known key"),
            ("steps: [include: a.steps.yaml]", "includes itself"),
            ("steps: [include: b.steps.yaml]", "b.steps.yaml: no such file"),
            ("steps: [tap: '${action}']", "must be a known action, not `${action}`"),
        ]
    )
    func wrongInclude(file: String, problem: String) {
        let found = self.problems("- launch\n- include: a.steps.yaml", with: ["a.steps.yaml": file])
        #expect(found.contains(problem), "\(found)")
    }

    @Test("the steps of a folder are executed before and after each of its scenarios, also after a failure")
    func folderSteps() async throws {
        let file = "before:\n- launch\nafter:\n- tap: next\n- expect: {screen: UC1.1/1.2}"
        let passed = try await self.play("- expect: {screen: UC1.1/1.1}", with: ["folder.yaml": file])
        #expect(passed.outcome == .passed && passed.stepsDone == 4 && passed.stepsInAll == 4)
        #expect(passed.steps.map(\.text).first == "folder.yaml:2 launch")
        let failed = try await self.play("- expect: {screen: UC1.1/1.3}")
        guard case .failed(let failure) = failed.outcome else {
            Issue.record("it passed")
            return
        }
        #expect(failure.step == "expect screen: UC1.1/1.3", "the first failure is reported")
        #expect(failed.steps.last?.text == "folder.yaml:5 expect screen: UC1.1/1.2")
        let late = try await self.play("- tap: next")
        guard case .failed(let end) = late.outcome else {
            Issue.record("a failure after the scenario is not reported")
            return
        }
        #expect(end.step == "folder.yaml:5 expect screen: UC1.1/1.2" && end.line == 3)
        #expect(self.problems("- launch", with: ["folder.yaml": "befor: [launch]"]).contains("did you mean `before`?"))
    }

    @Test("the text of a name in a scenario is written with the name of the dollar sign")
    func dollar() async throws {
        let title = RecordedText.quoted("Pay ${x} $${y")
        #expect(title == #""Pay ${$}{x} $${$}{y""#)
        let steps = """
            - set up: {pin: "024791", pid: true}
            - confirm: {title: \(title)}
            - expect: {title: \(title)}
            - device: {model: \(title)}
            """
        let result = try await self.play(steps)
        #expect(result.outcome == .passed, "\(result.outcome)")
    }

    @Test("a folder's own files are not scenarios")
    func notScenarios() {
        let names = ["a.yaml", "b.YML", "c.steps.yaml", "folder.yaml", "d.txt"]
        #expect(names.map { "dir/\($0)" }.filter(Scenario.isScenario(file:)) == ["dir/a.yaml", "dir/b.YML"])
    }
}
