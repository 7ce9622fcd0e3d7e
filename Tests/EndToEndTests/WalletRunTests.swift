import Foundation
import Glibc
import HostSystem
import TestSupport
import Testing

/// The behavior of `wallet run` that scripts depend on, with the real programs.
@Suite("The command that plays scenarios")
struct WalletRunTests {
    private let folder = TemporaryFolder()

    /// Writes a scenario with these steps.
    private func scenario(_ name: String, _ steps: String) throws -> String {
        let path = "\(self.folder.path)/\(name).yaml"
        try DurableFile.write(Array("case: \(name)\ntitle: Shows \(name)\nsteps: \(steps)\n".utf8), to: path)
        return path
    }

    private func run(_ arguments: String...) async throws -> ProgramRun {
        try await ServerProcess.run("wallet", ["run"] + arguments)
    }

    @Test("a user walks through a scenario by keys; q ends it, and otherwise the last screen waits for a key")
    func step() async throws {
        let bad = try self.scenario("bad", "[launch, {expect: {screen: UC1.1/1.2}}]")
        for (key, end) in [("q", "it was ended before line 3"), ("\r", "failed in line 3"), ("c", "failed in line 3")] {
            let terminal = try PseudoTerminal()
            let run = try AppInTerminal(["run", "--step", bad], on: terminal)
            #expect(await run.shows("line 3: launch"))
            #expect(!run.text.contains("start it"), "a key that does nothing is shown")
            run.type("\r")
            #expect(await run.shows("line 3: expect"))
            run.type(key)
            #expect(await run.shows(end), "\(run.text)")
            if key != "q" {
                #expect(await run.shows("Enter report"))
                run.type("\r")
                #expect(await run.shows("1 failed"))
            }
            #expect(await run.ended().status == (key == "q" ? 0 : 1))
        }
    }

    @Test("exit code 0 if all expectations are met and 1 otherwise, with the deviation in the report")
    func expectations() async throws {
        let good = try self.scenario("good", "[launch, {expect: {screen: UC1.1/1.1}}]")
        let bad = try self.scenario("bad", "[launch, {expect: {screen: UC1.1/1.2}}]")
        let passed = try await self.run(good)
        #expect(passed.exitCode == 0 && passed.output.contains("1 passed, 0 failed, 0 skipped"), "\(passed.output)")
        let failed = try await self.run(good, bad, "--jobs", "1")
        #expect(
            failed.exitCode == 1 && failed.output.contains("\(bad):3: expect screen: UC1.1/1.2"),
            "\(failed.output)"
        )
        #expect(try await self.run(good, bad, "--filter", "good").exitCode == 0)
        let json = try await self.run(good, "--json").output
        #expect((try? JSONSerialization.jsonObject(with: Data(json.utf8))) is [String: Any], "\(json)")
        let report = "\(self.folder.path)/report.xml"
        #expect(try await self.run(self.folder.path, "--format", "junit", "--output", report).exitCode == 1)
        #expect(
            String(decoding: try DurableFile.read(report, atMost: 1 << 20), as: UTF8.self).contains("failures=\"1\"")
        )
    }

    @Test("tags, filter and repetition select the scenarios, and an empty selection is an error")
    func selection() async throws {
        let good = try self.scenario("good", "[launch]\ntags: [smoke, fast]")
        let bad = try self.scenario("bad", "[launch, {expect: {screen: UC1.1/1.2}}]\ntags: slow")
        let list = try await self.run(good, bad, "--list")
        #expect(list.exitCode == 0 && list.output.contains("good  smoke,fast  Shows good  \(good)"), "\(list.output)")
        #expect(list.output.contains("bad   slow        Shows bad   \(bad)"))
        let run = try await self.run(good, bad, "--tag", "fast", "--repeat", "3", "--shuffle", "1", "--fail-fast")
        #expect(run.exitCode == 0 && run.output.contains("3 passed, 0 failed, 0 skipped"), "\(run.output)")
        let failed = try await self.run(good, bad, "--tag", "slow", "--repeat", "2", "--retries", "1")
        #expect(failed.exitCode == 1 && failed.output.contains("0 passed, 2 failed"), "\(failed.output)")
        let unknown = try await self.run(good, bad, "--tag", "slwo")
        #expect(unknown.exitCode == 64 && unknown.output.contains("did you mean `slow`?"), "\(unknown.output)")
        #expect(try await self.run(good, bad, "--tag", "slow", "--filter", "good").exitCode == 64)
        #expect(try await self.run(good, "--repeat", "2", "--table", "\(self.folder.path)/t.md").exitCode == 64)
        #expect(try await self.run(good, "--watch", "--json").exitCode == 64)
    }

    @Test("an interrupt ends a run although nothing reads its output")
    func unreadOutput() async throws {
        let pipe = FullPipe(in: self.folder)
        let files = try ["one", "two"].map { try self.scenario($0, "[launch]") }
        let logs = self.folder.file("logs")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments =
            ["-c", "exec \"$0\" run --jobs 2 \"${@:2}\" 1<>\"$1\"", Programs.path("wallet"), pipe.path]
            + ["--server-logs", logs] + files
        process.standardError = FileHandle.nullDevice
        try process.run()
        defer { kill(process.processIdentifier, SIGKILL) }
        // Both scenarios are over, and their results are next.
        try #require(await eventually { (try? DurableFile.names(in: logs).count) == files.count })
        kill(process.processIdentifier, SIGINT)
        process.waitUntilExit()
        #expect(process.terminationStatus == 130)
    }

    @Test("shards, skipped tags and the failures of an earlier report select scenarios")
    func parts() async throws {
        let good = try self.scenario("good", "[launch]\ntags: smoke")
        let bad = try self.scenario("bad", "[launch, {expect: {screen: UC1.1/1.2}}]\ntags: slow")
        for (shard, file) in [("1/2", good), ("2/2", bad)] {
            let list = try await self.run(good, bad, "--shard", shard, "--list")
            #expect(list.output.contains(file) && list.output.split(separator: "\n").count == 1, "\(list.output)")
        }
        for wrong in ["0/2", "3/2", "2", "1/0", "a/b", "1/2/3", "3/3"] {
            #expect(try await self.run(good, bad, "--shard", wrong, "--list").exitCode == 64, "\(wrong)")
        }
        #expect(try await self.run(good, bad, "--skip-tag", "slow").exitCode == 0)
        let unknown = try await self.run(good, bad, "--skip-tag", "slwo")
        #expect(unknown.exitCode == 64 && unknown.output.contains("did you mean `slow`?"), "\(unknown.output)")
        let report = "\(self.folder.path)/report.json"
        #expect(try await self.run(good, bad, "--json", "--output", report).exitCode == 1)
        let again = try await self.run(good, bad, "--last-failed", report)
        #expect(again.exitCode == 1 && again.output.contains("0 passed, 1 failed, 0 skipped"), "\(again.output)")
        let other = try await self.run(good, "--last-failed", report)
        #expect(other.exitCode == 64 && other.output.contains(bad), "\(other.output)")
        #expect(try await self.run(good, "--json", "--output", report).exitCode == 0)
        let none = try await self.run(good, bad, "--last-failed", report)
        #expect(none.exitCode == 64 && none.output.contains("no scenario failed"), "\(none.output)")
        #expect(try await self.run(good, "--last-failed", good).exitCode == 64)
    }

    @Test("a watched file is played again after each save, and an invalid one is reported")
    func watch() async throws {
        let good = try self.scenario("good", "[launch]")
        let log = "\(self.folder.path)/log"
        try DurableFile.write([], to: log)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Programs.path("wallet"))
        process.arguments = ["run", self.folder.path, "--watch"]
        let output = try #require(FileHandle(forWritingAtPath: log))
        (process.standardOutput, process.standardError) = (output, output)
        try process.run()
        defer { kill(process.processIdentifier, SIGKILL) }
        func shows(_ word: String) async -> Bool {
            await eventually { ((try? String(contentsOfFile: log, encoding: .utf8)) ?? "").contains(word) }
        }
        try #require(await shows("1 passed, 0 failed"))
        _ = try self.scenario("good", "[launch, {expect: {screen: UC1.1/1.2}}]")
        #expect(await shows("\(good):3: expect screen: UC1.1/1.2"))
        _ = try self.scenario("other", "[lauch]")
        #expect(await shows("did you mean `launch`?"))
        kill(process.processIdentifier, SIGINT)
        process.waitUntilExit()
        #expect(process.terminationStatus == 130)
    }

    @Test("in a folder, YAML files of other kinds are named in one line, and pipes and links in a loop are left out")
    func folders() async throws {
        let good = try self.scenario("good", "[launch]")
        let lab = self.folder.file("lab")
        try DurableFile.makeFolder(lab + "/device")
        for name in ["lab.yaml", "server.yaml", "device/profile.yaml", "wallet.yml"] {
            try DurableFile.write(Array("platform: ios\nname: \(name)\n".utf8), to: "\(lab)/\(name)")
        }
        try #require(unsafe mkfifo("\(lab)/pipe.yaml", 0o600) == 0)
        try FileManager.default.createSymbolicLink(atPath: "\(lab)/loop", withDestinationPath: "..")
        let list = try await self.run(self.folder.path, "--list")
        let lines = list.output.split(separator: "\n")
        #expect(list.exitCode == 0 && lines.count == 2, "\(list.output)")
        #expect(lines.contains { $0.contains("good") && $0.hasSuffix(good) })
        let names = ["lab.yaml", "server.yaml", "wallet.yml"].map { "\(lab)/\($0)" }.joined(separator: ", ")
        #expect(lines.contains("wallet: no scenario, passed over: \(names) and 1 more"), "\(list.output)")
        #expect(try await self.run(self.folder.path).exitCode == 0)
        #expect(try await self.run("\(lab)/lab.yaml", "--check").exitCode == 64, "a named file must be a scenario")
        #expect(try await self.run("\(lab)/device", "--check").exitCode == 64, "a folder without a scenario")
        let unplayable = [
            "a: 1\n---\nb: 2\n", "a: &x 1\nb: *x\n", "a: !unknown {}\n", "", "# a comment\n", "- a\n- b\n",
            "a:\n\tb: 1\n",
            "a: 1\na: 2\n", "title: [\n", "a: \(String(repeating: "x", count: 1 << 20))\n",
        ]
        for (index, text) in unplayable.enumerated() {
            try DurableFile.write(Array(text.utf8), to: "\(lab)/z\(index).yaml")
            #expect(try await self.run("\(lab)/z\(index).yaml", "--check").exitCode == 64, "\(text.prefix(20))")
        }
        let besides = try await self.run(self.folder.path, "--list")
        #expect(
            besides.exitCode == 0 && besides.output.contains("and \(1 + unplayable.count) more"),
            "\(besides.output)"
        )
        // A file with either key is a scenario, and so is one that is not YAML and has a line with such a key.
        for text in [
            "case: X\n", "steps: [launch]\n", "case: X\ntitle: [\n", "case: X\ncase: Y\n", "a: 1\n---\ncase: X\n",
        ] {
            try DurableFile.write(Array(text.utf8), to: "\(lab)/wrong.yaml")
            #expect(try await self.run(self.folder.path, "--check").exitCode == 64, "\(text)")
        }
        try FileManager.default.removeItem(atPath: "\(lab)/wrong.yaml")
        try #require(unsafe mkfifo("\(self.folder.path)/folder.yaml", 0o600) == 0)
        let pipe = try await self.run(good, "--check")
        #expect(pipe.exitCode == 64 && pipe.output.contains("a named pipe"), "\(pipe.output)")
    }

    @Test("no output of a run has control characters of a title, a step or an expectation")
    func controls() async throws {
        let path = self.folder.file("red.yaml")
        let title = "title: \"Red \\e[31mtitle\\e[0m \\0 ]]> & <b> \\u2028 \\u202E # SKIP\""
        let step = "expect: {screen: UC1.1/1.1, title: \"no \\e[1m::error::%0A\\x07 such title ]]>\"}"
        let text = "case: red\n\(title)\nsteps: [launch, {\(step)}]\n"
        try DurableFile.write(Array(text.utf8), to: path)
        let explanation = try await ServerProcess.run("wallet", ["explain", "a\n::error::\u{1B}[31mb"])
        #expect(explanation.output.contains(#"a\u{A}::error::\u{1B}[31mb"#), "\(explanation.output.debugDescription)")
        let named = "\(self.folder.path)/a\n::b\u{1B}[31m.yaml"
        try DurableFile.write(Array("case: X\ntitle: t\nsteps: [launch]\n".utf8), to: named)
        var outputs = [
            try await self.run(path, "--list").output, try await self.run(named, "--list").output,
            try await self.run(named).output, explanation.output,
        ]
        #expect(!outputs.contains { $0.contains("\n::b") }, "\(outputs)")
        for format in ["text", "junit", "github", "json"] {
            let run = try await self.run(path, "--format", format)
            #expect(run.exitCode == 1 && run.output.contains("title"), "\(run.output)")
            outputs.append(run.output)
        }
        let pages = self.folder.file("pages")
        #expect(try await self.run(path, "--report", "html", pages).exitCode == 1)
        outputs += try DurableFile.names(in: pages).map { try DurableFile.readText("\(pages)/\($0)", atMost: 1 << 20) }
        for output in outputs {
            let odd = output.unicodeScalars.first { scalar in
                scalar.value < 0x20 && scalar != "\n" && scalar != "\t" || ["\u{202E}", "\u{2028}"].contains(scalar)
            }
            #expect(odd == nil, "\(output.debugDescription)")
        }
    }

    @Test("an output that cannot be written is refused before any scenario runs, and no log has two scenarios")
    func outputsFirst() async throws {
        let good = try self.scenario("good", "[launch]")
        let (none, file) = (self.folder.file("none/report"), self.folder.file("file"))
        try DurableFile.write([], to: file)
        for option in ["--output", "--cast", "--table", "--table-check", "--coverage", "--report", "--server-logs"] {
            let kind = option == "--report" ? ["html"] : []
            for path in [option == "--report" || option == "--server-logs" ? file : none, "\(file)/report", ""] {
                let run = try await ServerProcess.run("wallet", ["run", good, option] + kind + [path])
                #expect(run.exitCode == 64 && !run.output.contains("passed"), "\(option) \(path): \(run.output)")
            }
        }
        #expect(try await self.run("").exitCode == 64)
        let again = self.folder.file("again.yaml")
        try DurableFile.write(Array("case: good\ntitle: t\nsteps: [launch]\n".utf8), to: again)
        let logs = self.folder.file("logs")
        #expect(try await self.run(good, again, "--server-logs", logs).exitCode == 0)
        #expect(try DurableFile.names(in: logs) == ["good-2.log", "good.log"])
    }

    @Test("exit code 64 for an invalid file or option, before any scenario runs")
    func usage() async throws {
        let wrong = try self.scenario("wrong", "[lauch]")
        let run = try await self.run(wrong)
        #expect(
            run.exitCode == 64
                && run.output.contains("\(wrong):3: `steps.lauch` is not a known step; did you mean `launch`?")
        )
        #expect(try await self.run(wrong, "--check").exitCode == 64)
        #expect(try await self.run().exitCode == 64)
        let missing = try await self.run("\(self.folder.path)/none.yaml")
        #expect(missing.exitCode == 64 && missing.output.contains("\n\(self.folder.path)/none.yaml: no such file"))
        let good = try self.scenario("good", "[launch]")
        let check = try await self.run(good, "--check")
        #expect(check.exitCode == 0 && check.output == "1 scenario is well formed\n", "\(check.output)")
        let server = ["run", good, "--server", "127.0.0.1:1", "--ca", good, "--authority"]
        let authority = try await ServerProcess.run("wallet", server + [self.folder.file("none")])
        #expect(authority.exitCode == 64 && authority.output.contains("is not a folder"), "\(authority.output)")
        let ca = try await self.run(
            good,
            "--server",
            "127.0.0.1:1",
            "--ca",
            self.folder.file("none"),
            "--authority",
            self.folder.path
        )
        #expect(ca.exitCode == 64 && ca.output.contains("--ca: "), "\(ca.output)")
        for wrong in [
            ["--format", "xml"], ["--json", "--format", "junit"], ["--jobs", "0"], ["--ca", "x"], ["--server", "x"],
            ["--filter", "nothing"], ["--server", "::1:7400", "--ca", "x", "--authority", "x"],
        ] {
            #expect(try await ServerProcess.run("wallet", ["run", good] + wrong).exitCode == 64, "\(wrong)")
        }
    }

    @Test(
        "an interrupted run reports what is finished and which scenario was in play, and removes its labs",
        arguments: [(SIGINT, "junit"), (SIGTERM, "json"), (SIGHUP, "text")]
    )
    func interrupted(_ signal: Int32, format: String) async throws {
        let (starts, binary) = ("\(self.folder.path)/starts", "\(self.folder.path)/server")
        let temporary = "\(self.folder.path)/tmp"
        try DurableFile.makeFolder(temporary)
        // The third start never becomes ready.
        let script = """
            #!/bin/sh
            echo x >>\(starts)
            [ "$(wc -l <\(starts))" -lt 3 ] || exec sleep 600
            exec \(Programs.path("remote-pin-server")) "$@"

            """
        try DurableFile.write(Array(script.utf8), to: binary, mode: 0o700)
        let files = [
            try self.scenario("finished", "[launch]"),
            try self.scenario("in-play", "[launch, kill server, start server, launch]"),
            try self.scenario("waiting", "[launch]"),
        ]
        let (report, pages) = ("\(self.folder.path)/report", "\(self.folder.path)/pages")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Programs.path("wallet"))
        process.arguments =
            ["run", "--jobs", "1", "--server-binary", binary, "--report", "html", pages]
            + ["--format", format, "--output", report] + files
        process.environment = ProcessInfo.processInfo.environment.merging(["TMPDIR": temporary]) { $1 }
        try process.run()
        defer { kill(process.processIdentifier, SIGKILL) }
        try #require(await eventually { (try? DurableFile.readText(starts, atMost: 100))?.count == 6 })
        kill(process.processIdentifier, signal)
        process.waitUntilExit()
        #expect(process.terminationStatus == 130)
        let text = try DurableFile.readText(report, atMost: 1 << 20)
        switch format {
        case "json":
            let scenarios = try JSONValue(text)["scenarios"]?.array ?? []
            #expect(scenarios.map { $0["outcome"]?.string } == ["passed", "skipped", "skipped"])
            #expect(scenarios[1]["reason"] == .string("line 3, start server: the run was interrupted"))
            #expect(scenarios[2]["reason"] == .string("the run was interrupted"))
        case "junit":
            #expect(text.contains("tests=\"3\" failures=\"0\" skipped=\"2\""), "\(text)")
        case _:
            #expect(text.contains("1 passed, 0 failed, 2 skipped"), "\(text)")
        }
        for (page, reason) in [
            ("2-in-play", "line 3, start server: the run was interrupted"), ("3-waiting", "the run was interrupted"),
        ] {
            let html = try DurableFile.readText("\(pages)/\(page).html", atMost: 1 << 20)
            #expect(html.contains("<h2>Skipped</h2>") && html.contains("<p>\(reason)</p>"), "\(page)")
        }
        #expect(try DurableFile.names(in: temporary).filter { $0.hasPrefix("rp-") } == [])
    }

    @Test("a run under nohup continues without its terminal")
    func nohup() async throws {
        let good = try self.scenario("good", "[launch]")
        let (started, goOn, binary) = (self.folder.file("started"), self.folder.file("go"), self.folder.file("server"))
        let script = """
            #!/bin/sh
            touch \(started)
            while [ ! -e \(goOn) ]; do sleep 0.1; done
            exec \(Programs.path("remote-pin-server")) "$@"

            """
        try DurableFile.write(Array(script.utf8), to: binary, mode: 0o700)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/nohup")
        process.arguments = [Programs.path("wallet"), "run", good, "--server-binary", binary]
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        defer { kill(process.processIdentifier, SIGKILL) }
        try #require(await eventually { DurableFile.exists(started) })
        kill(process.processIdentifier, SIGHUP)
        try DurableFile.write([], to: goOn)
        process.waitUntilExit()
        #expect(process.terminationReason == .exit && process.terminationStatus == 0)
    }

    @Test("killing the run ends the servers that it started")
    func killed() async throws {
        let (pid, log) = ("\(self.folder.path)/pid", "\(self.folder.path)/log")
        let binary = "\(self.folder.path)/server"
        // Redirects the server's output to a file, since the run would otherwise wait for it.
        let script = "#!/bin/sh\necho $$ >\(pid)\nexec \(Programs.path("remote-pin-server")) \"$@\" >\(log) 2>&1\n"
        try DurableFile.write(Array(script.utf8), to: binary, mode: 0o700)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Programs.path("wallet"))
        process.arguments = ["run", try self.scenario("good", "[launch]"), "--server-binary", binary]
        try process.run()
        defer { kill(process.processIdentifier, SIGKILL) }
        let isServing = await eventually {
            ((try? String(contentsOfFile: log, encoding: .utf8)) ?? "").contains("ready on ")
        }
        try #require(isServing)
        let text = try String(contentsOfFile: pid, encoding: .utf8)
        let server = try #require(Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        kill(process.processIdentifier, SIGKILL)
        #expect(await eventually { !isRunning(server) })
        // The server was shut down in an orderly way.
        #expect(try String(contentsOfFile: log, encoding: .utf8).contains("stopped"))
        kill(server, SIGKILL)
    }

    @Test("a report is written through a symbolic link and to the standard output, which stay what they are")
    func outputs() async throws {
        let good = try self.scenario("good", "[launch]")
        let (link, target) = ("\(self.folder.path)/link.json", "\(self.folder.path)/target.json")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        // Links, so that a defect replaces no device of the machine.
        let (full, output) = ("\(self.folder.path)/full", "\(self.folder.path)/output")
        try FileManager.default.createSymbolicLink(atPath: full, withDestinationPath: "/dev/full")
        try FileManager.default.createSymbolicLink(atPath: output, withDestinationPath: "/proc/self/fd/1")
        #expect(try await self.run(good, "--json", "--output", link).exitCode == 0)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == target)
        let report = String(decoding: try DurableFile.read(target, atMost: 1 << 20), as: UTF8.self)
        #expect(try JSONValue(report)["passed"] == .integer(1))
        let run = try await self.run(good, "--json", "--output", output)
        #expect(run.exitCode == 0 && run.output.contains("\"passed\" : 1") && run.output.contains("1 passed"))
        #expect(try await self.run(good, "--output", full).exitCode == 70)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: full) == "/dev/full")
    }

    @Test("the pages and the recording of a run are written, also if a scenario fails")
    func screens() async throws {
        let bad = try self.scenario("bad", "[launch, {expect: {screen: UC1.1/1.2}}]")
        let (pages, cast) = ("\(self.folder.path)/pages", "\(self.folder.path)/run.cast")
        let run = try await self.run("--report", "html", pages, bad, "--cast", cast)
        #expect(run.exitCode == 1, "\(run.output)")
        #expect(try DurableFile.names(in: pages) == ["1-bad.html", "index.html"])
        let page = String(decoding: try DurableFile.read("\(pages)/1-bad.html", atMost: 1 << 20), as: UTF8.self)
        #expect(page.contains("UC1.1/1.<mark>2</mark>"))
        #expect(try DurableFile.read(cast, atMost: 1 << 20).starts(with: Array("{\"version\": 2".utf8)))
        #expect(try await self.run(bad, "--report", "html").exitCode == 64)
        #expect(try await self.run(bad, "--report", "pdf", pages).exitCode == 64)
    }

    @Test("exit code 69 without a server")
    func noServer() async throws {
        let good = try self.scenario("good", "[launch]")
        #expect(try await self.run(good, "--server-binary", "\(self.folder.path)/none").exitCode == 69)
        let run = try await self.run(good, "--server", "127.0.0.1:1", "--ca", good, "--authority", self.folder.path)
        #expect(run.exitCode == 69, "\(run.output)")
    }

    @Test("an unreached step or an outdated table fails the run")
    func coverage() async throws {
        let good = try self.scenario("good", "[launch]")
        let (steps, table) = ("\(self.folder.path)/steps.txt", "\(self.folder.path)/table.md")
        try DurableFile.write(Array("UC1.1/1.1\n".utf8), to: steps)
        #expect(try await self.run(good, "--coverage", steps, "--table", table).exitCode == 0)
        #expect(try await self.run(good, "--coverage", steps, "--table-check", table).exitCode == 0)
        try DurableFile.write(Array("UC1.1/1.1\nUC1.1/1.2\n".utf8), to: steps)
        let run = try await self.run(good, "--coverage", steps)
        #expect(run.exitCode == 1 && run.output.contains("not reached UC1.1/1.2"), "\(run.output)")
        try DurableFile.write(Array("another\n".utf8), to: table)
        #expect(try await self.run(good, "--table-check", table).exitCode == 1)
    }
}
