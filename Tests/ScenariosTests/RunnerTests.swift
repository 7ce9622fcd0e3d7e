import HostSystem
import LabFiles
import SimulatedPhone
import Synchronization
import TestSupport
import Testing
import WalletCore
import WalletFlows

@testable import Scenarios

/// Each test uses a separate real server over TLS.
@Suite("Scenarios against a real server")
struct RunnerTests {
    private let folder = TemporaryFolder()

    /// Plays steps, the first one in line 4.
    private func play(_ steps: String, keeps: Bool = false) async throws -> ScenarioResult {
        let scenario = try Scenario(yaml: "case: X\ntitle: t\nsteps:\n" + steps, path: "x.yaml")
        let runner = ScenarioRunner(
            .ownLabs(serverBinary: Programs.path("remote-pin-server")),
            jobs: 1,
            keepsFolders: keeps,
            parentFolder: self.folder.path
        )
        return try #require(await runner.run([scenario]).first)
    }

    private func failure(_ result: ScenarioResult) throws -> ScenarioResult.Failure {
        guard case .failed(let failure) = result.outcome else {
            Issue.record("it did not fail: \(result.outcome)")
            throw UnexpectedAnswer()
        }
        return failure
    }

    @Test("a scenario whose expectations are met passes and leaves no files")
    func passes() async throws {
        let result = try await self.play(
            """
            - set up: {pin: "024791"}
            - expect: {screen: UC3.1/1.1, locked: false}
            - server: {state: open, failed_attempts: 0}
            """
        )
        #expect(result.outcome == .passed && result.stepsDone == 3)
        #expect(result.reached.contains("PF2.9/1.5a"))
        #expect(try DurableFile.names(in: self.folder.path).isEmpty)
    }

    @Test("an unmet expectation fails at its line, with every difference")
    func differs() async throws {
        let result = try await self.play(
            """
            - launch
            - expect:
                screen: UC1.1/1.2
                title: Introduction (2/3)
                text: [NL Wallet keeps, something else]
                actions: [next, back]
                no_actions: [skip]
                input: pin
                locked: false
                values: {banner: "/.*/"}
            """
        )
        let failure = try self.failure(result)
        #expect(failure.line == 5 && result.stepsDone == 1)
        #expect(
            failure.differences.map(\.what) == [
                "screen", "title", "text", "actions", "no actions", "input", "value banner", "locked",
            ]
        )
        #expect(failure.differences.first?.expected == "UC1.1/1.2" && failure.differences.first?.seen == "UC1.1/1.1")
        #expect(failure.screen.first == "UC1.1/1.1 (screen) Introduction (1/3)")
        #expect(failure.trace.last == "UC1.1/1.1")
    }

    @Test(
        "an impossible step or an unmet expectation fails with its reason",
        arguments: [
            ("- launch\n- tap: log-out", 5, "does not offer"),
            ("- launch\n- enter: '024791'", 5, "does not ask for a PIN"),
            ("- tap: next", 4, "not running"), ("- launch\n- trace: [UC1.1/1.2]", 5, "the steps taken"),
            ("- launch\n- trace: {contains: [UC1.1/1.1, LOCK/1.1]}", 5, "not in this order"),
            ("- launch\n- event: link-accepted", 5, "did not receive"), ("- start server", 4, "running already"),
            ("- revoke wallet", 4, "no wallet was registered"),
            ("- revoke with code: 0000-0000-0000-0000-00", 4, "did not recognize"),
            ("- unlock: '024791'", 4, "was not unlocked"),
            ("- launch\n- keep: {x: deletionCode}", 5, "no value"), ("- server: {state: open}", 4, "record"),
            ("- device: {platform: ios}", 4, "cannot be changed"), ("- launch\n- biometric: match", 5, "no prompt"),
        ]
    )
    func fails(steps: String, line: Int, reason: String) async throws {
        let failure = try self.failure(try await self.play(steps))
        #expect(failure.line == line)
        #expect(failure.message.contains(reason), "\(failure.message)")
    }

    @Test(
        "a crash or a network condition that never happens fails",
        arguments: [
            ("- kill app: {at_write: 900}\n- launch", 5, "this step makes"),
            ("- launch\n- kill app: {at_write: 1}\n- kill app", 6, "no step uses the app"),
            ("- launch\n- kill app: {at_write: 1}", 0, "no step uses the app"),
            ("- launch\n- device: {conditions: [delay:1]}", 0, "never happened: delay:1"),
            ("- device: {conditions: [lose-next-reply:instruct]}\n- launch", 0, "never happened"),
            ("- device: {conditions: [delay:1]}\n- device: {conditions: [delay:2]}", 5, "never happened: delay:1"),
        ]
    )
    func neverHappens(steps: String, line: Int, reason: String) async throws {
        let failure = try self.failure(try await self.play(steps))
        #expect(failure.line == line)
        #expect(failure.message.contains(reason), "\(failure.message)")
    }

    @Test("conditions that are ended on purpose pass, and a delayed answer takes the lab's time, not the run's")
    func delays() async throws {
        let start = ContinuousClock.now
        let result = try await self.play(
            """
            - device: {conditions: ["delay:600000"]}
            - launch
            - expect: {error: server-unreachable, values: {cause: connection-lost}}
            - device: {conditions: ["delay:1", "delay:2", "delay:3", "delay:4", "delay:5"]}
            - tap: retry
            - device: {conditions: none}
            """
        )
        #expect(result.outcome == .passed)
        #expect(ContinuousClock.now - start < .seconds(60))
    }

    @Test("a pause sees the phone before each step and at the end, and may end the scenario, which then has no pause")
    func pauses() async throws {
        let scenario = try Scenario(yaml: "case: X\ntitle: t\nsteps:\n- launch\n- tap: next", path: "x.yaml")
        for (limit, outcome) in [(9, ScenarioResult.Outcome.passed), (1, .skipped("it was ended before line 5"))] {
            let seen = Mutex<[String]>([])
            let runner = ScenarioRunner(
                .ownLabs(serverBinary: Programs.path("remote-pin-server")),
                jobs: 1,
                parentFolder: self.folder.path
            ) { picture, place in
                let text =
                    switch place {
                    case .step(let step): String(step.prefix { $0 != ":" })
                    case .end(let result): "the end, \(result)"
                    }
                return seen.withLock { seen in
                    seen.append("\(picture.screen.step) \(text)")
                    return seen.count <= limit
                }
            }
            let result = try #require(await runner.run([scenario]).first)
            #expect(result.outcome == outcome)
            let steps = [" line 4", "UC1.1/1.1 line 5", "UC1.1/1.2 the end, passed"]
            #expect(seen.withLock { $0 } == (limit == 9 ? steps : [steps[0], steps[1]]))
        }
    }

    @Test("the server's record is compared, and the wallet's log lines are shown")
    func server() async throws {
        let result = try await self.play(
            """
            - set up: {pin: "024791"}
            - kill app
            - launch
            - enter: "135790"
            - server: {state: blocked, attempts_left: 2, failed_attempts: 1, revoked: user, deletion_code: false}
            """
        )
        let failure = try self.failure(result)
        #expect(failure.differences.map(\.what) == ["state", "attempts_left", "revoked", "deletion_code"])
        #expect(failure.differences.map(\.seen) == ["open", "3", "no", "true"])
        #expect(failure.log.contains { $0.contains("wallet registered") })
    }

    @Test("a kept folder contains the lab, the phone and the server's log")
    func keeps() async throws {
        let result = try await self.play("- launch\n- expect: {screen: UC1.1/1.1}", keeps: true)
        let folder = try #require(result.folder)
        let names = try Set(DurableFile.names(in: folder))
        #expect(names.isSuperset(of: ["lab", "first", "server.log"]), "\(names)")
    }

    @Test("a server that cannot start fails its scenario before the first step, with its output")
    func noServer() async throws {
        let scenario = try Scenario(yaml: "case: X\ntitle: t\nsteps: [launch]", path: "x.yaml")
        let binary = "\(self.folder.path)/broken"
        try DurableFile.write(Array("#!/bin/sh\necho no disk\nexit 1\n".utf8), to: binary, mode: 0o700)
        let runner = ScenarioRunner(.ownLabs(serverBinary: binary), jobs: 1, parentFolder: self.folder.path)
        let failure = try self.failure(try #require(await runner.run([scenario]).first))
        #expect(failure.line == 0 && failure.message.contains("no disk"), "\(failure.message)")
    }

    @Test("against a server outside the run, steps that need a lab are skipped with a reason")
    func skips() async throws {
        let lab = LabServer(folder: "\(self.folder.path)/s", binary: Programs.path("remote-pin-server"), settings: [:])
        try DurableFile.makeFolder("\(self.folder.path)/s")
        try await lab.start()
        var existing = try WalletSettings(lab: lab.lab.path)
        existing.clockFile = nil
        let scenarios = try [
            "steps: [{set up: {pin: '024791'}}, {server: {state: open}}, {expect: {screen: UC3.1/1.1}}]",
            "steps: [launch, {advance: 1m}, {expect: {screen: UC9.2/1.1}}]", "server: {pin.rounds: 5}\nsteps: [launch]",
            "steps: [launch, {expect: {screen: UC9.2/1.1}}]",
        ].map { try Scenario(yaml: "case: X\ntitle: t\n" + $0, path: "x.yaml") }
        let runner = ScenarioRunner(.server(existing), jobs: 2, parentFolder: self.folder.path)
        let results = await runner.run(scenarios)
        #expect(results[0].outcome == .passed)
        #expect(results[0].skips == [.init(line: 3, step: "server state: open", reason: World.notOurs)])
        #expect(results[1].outcome == .skipped("line 3, advance 1m: \(World.notOurs)"))
        #expect(
            results[2].outcome == .skipped("the scenario needs the server's setting pin.rounds, and \(World.notOurs)")
        )
        #expect(results[3].hasFailed)
        await lab.ended()
        #expect(await !existing.server.isReachable())
    }

    /// A server program that cannot start the first `failures` times.
    private func unreliableServer(failures: Int) throws -> String {
        let (binary, count) = ("\(self.folder.path)/server", "\(self.folder.path)/starts")
        let script = """
            #!/bin/sh
            echo start >>\(count)
            [ $(wc -l <\(count)) -gt \(failures) ] || exit 1
            exec \(Programs.path("remote-pin-server")) "$@"

            """
        try DurableFile.write(Array(script.utf8), to: binary, mode: 0o700)
        return binary
    }

    @Test("a scenario that passes after a failed attempt is flaky, not passed, and one that never passes has failed")
    func retries() async throws {
        let scenario = try Scenario(yaml: "case: X\ntitle: t\nsteps: [launch]", path: "x.yaml")
        let runner = ScenarioRunner(
            .ownLabs(serverBinary: try self.unreliableServer(failures: 4)),
            jobs: 1,
            parentFolder: self.folder.path,
            retries: 2
        )
        let failed = try #require(await runner.run([scenario]).first)
        #expect(failed.verdict == .failed && failed.earlierFailures.count == 2)
        let flaky = try #require(await runner.run([scenario]).first)
        #expect(flaky.verdict == .flaky && flaky.earlierFailures.count == 1)
        #expect(flaky.earlierFailures.first?.message.contains("did not become ready") == true)
        let passed = try #require(await runner.run([scenario]).first)
        #expect(passed.verdict == .passed)
    }

    @Test("after a failure no further scenario starts, and those that are left are skipped with the reason")
    func failFast() async throws {
        let good = try Scenario(yaml: "case: G\ntitle: t\nsteps: [launch]", path: "g.yaml")
        let bad = try Scenario(yaml: "case: B\ntitle: t\nsteps: [{tap: next}]", path: "b.yaml")
        let runner = ScenarioRunner(
            .ownLabs(serverBinary: Programs.path("remote-pin-server")),
            jobs: 1,
            parentFolder: self.folder.path,
            failsFast: true
        )
        let results = await runner.run([good, bad, good, good])
        #expect(results.map(\.verdict) == [.passed, .failed, .skipped, .skipped])
        #expect(results[3].outcome == .skipped(ScenarioRunner.notPlayed))
        #expect(await runner.run([good, good]).map(\.verdict) == [.passed, .passed])
    }

    @Test("a known failure stays green while a step fails, and fails once all steps pass; a lab's failure is not known")
    func knownFailure() async throws {
        func result(_ step: String, binary: String) async throws -> ScenarioResult {
            let yaml = "case: X\ntitle: t\nknown failure: 'see #1'\nsteps:\n- launch\n- \(step)"
            let runner = ScenarioRunner(.ownLabs(serverBinary: binary), jobs: 1, parentFolder: self.folder.path)
            return try #require(await runner.run([try Scenario(yaml: yaml, path: "x.yaml")]).first)
        }
        let server = Programs.path("remote-pin-server")
        let known = try await result("tap: log-out", binary: server)
        #expect(known.verdict == .knownFailure && known.outcome.failure?.line == 6, "\(known.outcome)")
        let passing = try self.failure(try await result("tap: next", binary: server))
        #expect(passing.line == 3 && passing.message.contains("see #1"), "\(passing)")
        #expect(try await result("tap: log-out", binary: self.unreliableServer(failures: 1)).verdict == .failed)
    }

    @Test("the step in progress at the end of the time limit fails")
    func timeLimit() async throws {
        let scenario = try Scenario(yaml: "case: X\ntitle: t\nsteps:\n- launch\n- tap: next", path: "x.yaml")
        let folder = "\(self.folder.path)/1"
        try DurableFile.makeFolder(folder)
        let lab = LabServer(folder: folder, binary: Programs.path("remote-pin-server"), settings: [:])
        let world = try await World.make(.ownLabs(serverBinary: ""), scenario, folder: folder, lab: lab)
        let run = try ScenarioRun(scenario, in: world, folder: folder, until: .now)
        let outcome = await run.run()
        #expect(outcome.failure?.step == "launch" && outcome.failure?.line == 4)
        #expect(outcome.failure?.message.contains("time limit of 5m") == true, "\(outcome)")
        await run.end()
        await lab.ended()
    }

    @Test("a lab that never becomes ready fails at the end of the time limit, and leaves no files")
    func neverReady() async throws {
        let binary = "\(self.folder.path)/server"
        try DurableFile.write(Array("#!/bin/sh\nexec sleep 1000".utf8), to: binary, mode: 0o700)
        let scenario = try Scenario(yaml: "case: X\ntitle: t\ntime limit: 1s\nsteps: [launch]", path: "x.yaml")
        let runner = ScenarioRunner(.ownLabs(serverBinary: binary), jobs: 1, parentFolder: self.folder.path)
        let failure = try self.failure(try #require(await runner.run([scenario]).first))
        #expect(failure.line == 0 && failure.message.contains("time limit of 1s"), "\(failure)")
        #expect(try DurableFile.names(in: self.folder.path) == ["server"])
    }

    @Test("a cancelled run ends and leaves neither servers nor folders")
    func cancelled() async throws {
        let values = (1...200).map(String.init).joined(separator: ",")
        let yaml = "case: X\ntitle: t\nsteps: [{for each: {name: n, in: [\(values)], do: [launch, kill app]}}]"
        let scenario = try Scenario(yaml: yaml, path: "x.yaml")
        let runner = ScenarioRunner(
            .ownLabs(serverBinary: Programs.path("remote-pin-server")),
            jobs: 2,
            parentFolder: self.folder.path
        )
        let run = Task { await runner.run([scenario, scenario, scenario]) }
        run.cancel()
        let results = await run.value
        #expect(results.count == 3)
        #expect(results.allSatisfy { if case .passed = $0.outcome { false } else { true } })
        #expect(try DurableFile.names(in: self.folder.path).isEmpty)
    }
}
