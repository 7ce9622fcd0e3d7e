import HostSystem
import Lab
import LabFiles
import TestSupport
import Testing

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
                values: {deletionCode: "/.*/"}
            """
        )
        let failure = try self.failure(result)
        #expect(failure.line == 5 && result.stepsDone == 1)
        #expect(
            failure.differences.map(\.what) == [
                "screen", "title", "text", "actions", "no actions", "input", "value deletionCode", "locked",
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
            ("- launch\n- link: '${name}'", 5, "unknown name"), ("- unlock: '024791'", 4, "was not unlocked"),
            ("- launch\n- keep: {x: deletionCode}", 5, "no value"), ("- server: {state: open}", 4, "record"),
            ("- device: {platform: ios}", 4, "cannot be changed"), ("- launch\n- biometric: match", 5, "no prompt"),
        ]
    )
    func fails(steps: String, line: Int, reason: String) async throws {
        let failure = try self.failure(try await self.play(steps))
        #expect(failure.line == line)
        #expect(failure.message.contains(reason), "\(failure.message)")
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
        let scenario = try Scenario(
            yaml: "case: X\ntitle: t\nserver: {pin.rounds: 1, pin.blocks: [1m]}\nsteps: [launch]",
            path: "x.yaml"
        )
        let binary = Programs.path("remote-pin-server")
        let runner = ScenarioRunner(.ownLabs(serverBinary: binary), jobs: 1, parentFolder: self.folder.path)
        let failure = try self.failure(try #require(await runner.run([scenario]).first))
        #expect(failure.line == 0 && failure.message.contains("pin.blocks"), "\(failure.message)")
    }

    @Test("against a server outside the run, steps that need a lab are skipped with a reason")
    func skips() async throws {
        let lab = LabServer(folder: "\(self.folder.path)/s", binary: Programs.path("remote-pin-server"), settings: [:])
        try DurableFile.makeFolder("\(self.folder.path)/s")
        try await lab.start()
        let server = try TestServer(lab: lab.lab.path)
        let existing = ExistingServer(
            host: server.host,
            port: server.port,
            name: "localhost",
            caFile: "\(lab.lab.authorityFolder)/tls-ca.pem",
            authority: lab.lab.authorityFolder
        )
        let scenarios = try [
            "steps: [{set up: {pin: '024791'}}, {server: {state: open}}, {expect: {screen: UC3.1/1.1}}]",
            "steps: [launch, {advance: 1m}, {expect: {screen: UC9.2/1.1}}]", "server: {pin.rounds: 2}\nsteps: [launch]",
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
        #expect(await !existing.isReachable())
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
