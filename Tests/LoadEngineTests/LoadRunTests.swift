import Foundation
import Lab
@testable import LoadEngine
import TestSupport
import Testing

@Suite("The command pin-load run")
struct LoadRunTests {
    private static func run(_ arguments: [String]) async throws -> ProgramRun {
        try await ServerProcess.run("pin-load", ["run"] + arguments)
    }

    @Test("all errors in the options are reported together, with exit code 1")
    func usage() async throws {
        let run = try await Self.run([
            "--address", "127.0.0.1:1", "--ca", "/nowhere", "--wallets", "/nowhere", "--connections", "5", "--duration",
            "5", "--mix", "rihgt=1", "--think", "soon", "--arrivals", "poison",
        ])
        #expect(run.exitCode == 1)
        for text in [
            "--duration: `5` is not a time",
            "--mix: `rihgt` is not one of right, wrong, change-pin, register; did you mean `right`?",
            "--think: `soon` is not a duration",
            "--arrivals: `poison` is not one of constant, poisson; did you mean `poisson`?",
        ] {
            #expect(run.output.contains(text), "\(run.output)")
        }
    }

    @Test(
        "incompatible options are rejected by name",
        arguments: [
            (["--connections", "5"], "--duration: missing"),
            (["--duration", "5s"], "--connections: missing"),
            (["--rate", "5", "--stages", "5s:5"], "--rate: not together with --stages"),
            (["--connections", "5", "--duration", "5s", "--arrivals", "poisson"], "--arrivals: only with --rate"),
            (["--rate", "5", "--duration", "5s", "--think", "1s"], "--think: cannot be combined with a rate"),
            (["--connections", "5", "--duration", "5s", "--threshold", "p99"], "--threshold p99"),
            (["--connections", "5", "--duration", "5s", "--out", "a.pdf"], "--out a.pdf: unknown file extension"),
            (["--stages-file", "/nowhere.yaml"], "--stages-file: "),
            (["--attack", "burst:8", "--connections", "5"], "--connections: not together with --attack"),
            (["--attack", "burst:8", "--mix", "right=1"], "--mix: not together with --attack"),
            (["--attack", "burst:8", "--metrics", "127.0.0.1:0"], "--metrics: not together with --attack"),
            (["--rate", "5", "--duration", "5s", "--metrics", "9466"], "--metrics: `9466` is not HOST:PORT"),
            (["--attack", "burst:8", "--pick", "single"], "--pick: not together with --attack"),
            (["--rate", "5", "--duration", "5s", "--part", "3/2"], "--part: `3/2` is not a part"),
            (["--rate", "5", "--duration", "5s", "--start-at", "soon"], "--start-at: `soon` is not a time"),
            (["--rate", "5", "--duration", "5s", "--start-at", "2020-01-01T00:00:00Z"], "is in the past"),
            (["--attack", "burst:8", "--part", "1/2"], "--part: not together with --attack"),
            (["--attack", "burst:8", "--connection", "new"], "--connection: not together with --attack"),
        ] as [([String], String)]
    )
    func incompatible(arguments: [String], message: String) async throws {
        let run = try await Self.run(["--lab", "/nowhere", "--wallets", "/nowhere"] + arguments)
        #expect(run.exitCode == 1)
        #expect(run.output.contains(message), "\(run.output)")
    }

    @Test("completions contain the values of options")
    func completions() async throws {
        let script = try await ServerProcess.run("pin-load", ["--generate-completion-script", "zsh"]).output
        for names in [
            "'warm' 'new' 'resumed'", "'constant' 'poisson'", "'uniform' 'zipf:1.1' 'single'",
            "'right=1' 'wrong=1' 'change-pin=1' 'register=1'", "'burst:16'",
            "'half-open' 'slow' 'garbage' 'hello' 'churn'",
        ] {
            #expect(script.contains("=(\(names))"), "\(names)")
        }
    }

    @Test("a load on another machine requires the option that declares the machine one's own")
    func ownership() async throws {
        let folder = TemporaryFolder()
        let ca = try folder.write(LabAuthority().tlsAuthorityPEM, to: "ca.pem")
        let run = try await Self.run([
            "--address", "192.0.2.1:7443", "--ca", ca, "--wallets", "/nowhere", "--connections", "1", "--duration",
            "1s",
        ])
        #expect(run.exitCode == 1)
        #expect(run.output.contains("--i-own-this-server 192.0.2.1"), "\(run.output)")
    }

    @Test("thresholds decide the exit code, and the result is written in every format")
    func thresholds() async throws {
        let lab = try await LoadLab.start(wallets: 4)
        let out = lab.folder.file("result")
        let common = ["--lab", lab.path, "--wallets", lab.walletsFile, "--connections", "2", "--duration"]
        let good = try await Self.run(
            common + ["1s", "--threshold", "errors==0", "--threshold", "p99<60s", "--out", out]
        )
        #expect(good.exitCode == 0, "\(good.output)")
        let names = try FileManager.default.contentsOfDirectory(atPath: out).sorted()
        #expect(names == ["csv", "html", "json", "txt"].map { "result.\($0)" })
        let bad = try await Self.run(common + ["1s", "--threshold", "p50<1us", "--lines"])
        #expect(bad.exitCode == 99, "\(bad.output)")
        #expect(bad.output.contains("failing p50<1us"))
        let aborted = try await Self.run(common + ["1h", "--threshold", "count<1", "--abort-on-fail", "--json"])
        #expect(aborted.exitCode == 99)
        #expect(aborted.output.contains("\"aborted\""))
        let others = ["--lab", lab.path, "--connections", "2", "--duration", "1s", "--wallets"]
        let missing = try await Self.run(others + [lab.folder.file("none")])
        #expect(missing.exitCode == 1 && missing.output.contains("/none"), "\(missing.output)")
        await lab.server.terminate()
        let gone = try await Self.run(common + ["1s"])
        #expect(gone.exitCode == 69)
        #expect(gone.output.contains("Start the server first"), "\(gone.output)")
    }

    @Test("two parts that begin together use different wallets, and their merged result is that of the whole load")
    func parts() async throws {
        let lab = try await LoadLab.start(wallets: 4)
        let copy = lab.folder.file("copy")
        try FileManager.default.copyItem(atPath: lab.walletsFile, toPath: copy)
        let start = Date(timeIntervalSinceNow: 12).formatted(.iso8601)
        @Sendable func part(_ number: Int, _ wallets: String) async throws -> ProgramRun {
            try await Self.run([
                "--lab", lab.path, "--wallets", wallets, "--rate", "100", "--duration", "2s", "--mix",
                "right=70,wrong=30", "--part", "\(number)/2", "--start-at", start, "--out",
                lab.folder.file("\(number).json"),
            ])
        }
        async let first = part(1, lab.walletsFile)
        async let second = part(2, copy)
        for run in try await [first, second] { #expect(run.exitCode == 0, "\(run.output)") }
        let merged = try await ServerProcess.run(
            "pin-load",
            ["merge", lab.folder.file("1.json"), lab.folder.file("2.json"), "--out", lab.folder.file("all.json")]
        )
        #expect(merged.exitCode == 0, "\(merged.output)")
        let parts = try ["1", "2", "all"].map { name in
            try RunResult(json: Array(Data(contentsOf: URL(fileURLWithPath: lab.folder.file("\(name).json")))))
        }
        // A check that was not due on a part would be due on no machine.
        #expect(parts[2].totals.count == 200)
        #expect(parts[0].totals.count + parts[1].totals.count == 200)
        #expect(parts[2].totals.violations.count == 0)
        let again = try await ServerProcess.run(
            "pin-load",
            ["merge", lab.folder.file("1.json"), lab.folder.file("1.json"), "--out", lab.folder.file("rejected")]
        )
        #expect(again.exitCode == 1)
        #expect(!FileManager.default.fileExists(atPath: lab.folder.file("rejected")))
        #expect(again.output.contains("have the same part"), "\(again.output)")
        await lab.server.terminate()
    }

    @Test("progress that nothing reads delays no operation, and the result is complete")
    func unreadProgress() async throws {
        let lab = try await LoadLab.start(wallets: 4)
        let pipe = FullPipe(in: lab.folder)
        let line = "exec \"$0\" \"$@\" 2<>\"$PIPE\""
        let run = try await ServerProcess.run(
            "/usr/bin/env",
            [
                "PIPE=\(pipe.path)", "/bin/bash", "-c", line, Programs.path("pin-load"), "run", "--lab", lab.path,
                "--wallets", lab.walletsFile, "--connections", "2", "--duration", "2s",
            ]
        )
        #expect(run.exitCode == 0 && run.output.contains("violations 0"), "\(run.output)")
        await lab.server.terminate()
    }

    @Test("a profile sets the options that are not given, and an unknown one is rejected with the names")
    func profiles() async throws {
        let lab = try await LoadLab.start(wallets: 4)
        let run = try await Self.run([
            "--lab", lab.path, "--wallets", lab.walletsFile, "--profile", "smoke", "--connections", "2", "--duration",
            "1s", "--json",
        ])
        #expect(run.exitCode == 0, "\(run.output)")
        #expect(run.output.contains(#"{"name":"mix","value":"right=80,wrong=15,change-pin=5"}"#), "\(run.output)")
        #expect(run.output.contains(#""text":"unexpected==0""#))
        await lab.server.terminate()
        let unknown = try await Self.run(["--lab", lab.path, "--wallets", lab.walletsFile, "--profile", "smok"])
        #expect(unknown.exitCode != 0)
        #expect(unknown.output.contains("smoke, soak, spike, stress, lockout-storm"), "\(unknown.output)")
    }

    @Test("Ctrl-C ends a run with its report and exit code 130")
    func interrupt() async throws {
        let lab = try await LoadLab.start(wallets: 4)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Programs.path("pin-load"))
        process.arguments = [
            "run", "--lab", lab.path, "--wallets", lab.walletsFile, "--rate", "50", "--duration", "1h",
        ]
        process.standardInput = FileHandle.nullDevice
        let output = ProgramOutput(of: process)
        let (ends, ended) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { ended.yield($0.terminationStatus) }
        try process.run()
        #expect(await output.waits(for: "0:02 of "))
        process.interrupt()
        await output.isClosed()
        let status = await ends.first { _ in true }
        #expect(status == 130)
        #expect(output.text.contains("interrupted ·"), "\(output.text)")
        #expect(output.text.contains("violations 0"))
        // The file of wallets is unlocked and intact for the next run.
        let next = try await Self.run([
            "--lab", lab.path, "--wallets", lab.walletsFile, "--connections", "4", "--duration", "1s",
            "--threshold", "violations==0",
        ])
        #expect(next.exitCode == 0, "\(next.output)")
        await lab.server.terminate()
    }
}
