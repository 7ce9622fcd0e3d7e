import Foundation
import SimulatedPhone
import TestSupport
import Testing
import WalletFlows

@testable import Scenarios

@Suite("Reports that show each step")
struct StepReportTests {
    private let folder = TemporaryFolder()

    /// The results of two scenarios against real servers: one passes, one fails with a hostile title.
    private func results() async throws -> [ScenarioResult] {
        let scenarios = try [
            "case: A\ntitle: t\nsteps:\n- set up: {pin: '024791'}\n- kill app\n- launch\n- enter: '111222'",
            "case: B\ntitle: <b>&\nsteps:\n- launch\n- expect: {title: Introduction (2/3)}",
        ].map { try Scenario(yaml: $0, path: "x.yaml") }
        let binary = Programs.path("remote-pin-server")
        return await ScenarioRunner(.ownLabs(serverBinary: binary), jobs: 2, parentFolder: self.folder.path)
            .run(scenarios)
    }

    @Test("each step is recorded with its screen, the steps of the flows, and the server's log lines")
    func records() async throws {
        let results = try await self.results()
        let steps = results[0].steps
        try #require(steps.map(\.text) == ["set up pin: 024791", "kill app", "launch", "enter 111222"])
        #expect(steps.map(\.line) == [4, 5, 6, 7])
        #expect(steps.map(\.picture.screen.step) == ["UC3.1/1.1", "", "UC2.3/1.3", "PF2.8/2.1"])
        #expect(steps[1].picture.place == .ended && steps[3].picture.behind?.step == "UC2.3/1.3")
        #expect(steps[0].trace.contains("PF2.9/1.5a") && steps[1].trace.isEmpty)
        #expect(steps[3].trace == ["UC2.3/1.3a", "PF2.8/1.1d", "PF2.8/2.1"])
        #expect(steps[0].log.contains { $0.contains("wallet registered") }, "\(steps.map(\.log))")
        #expect(!steps[1...].contains { $0.log.contains { $0.contains("wallet registered") } })
        #expect(results[1].steps.map(\.outcome) == [.done, .failed])
    }

    @Test("a log line belongs to the last step that began before it, in both formats of the log")
    func logLines() {
        let starts = [1_000, 2_000, 3_000] as [Int64]
        var steps = starts.map { start in
            StepRecord(
                line: 1,
                text: "s",
                duration: .zero,
                phone: "first",
                picture: Picture(.none),
                trace: [],
                startMilliseconds: start
            )
        }
        steps.assign(
            log: """
                1970-01-01T00:00:00.500Z info ready
                without a time
                1970-01-01T00:00:01.000Z info a
                continued
                1970-01-01T00:00:02.999Z info b
                {"time":"1970-01-01T00:00:03.001Z","level":"info","message":"c"}
                """
        )
        #expect(
            steps.map { $0.log.map { $0.suffix(9) } } == [["0Z info a", "continued"], ["9Z info b"], ["age\":\"c\"}"]]
        )
    }

    @Test("the pages show verdicts, every changed screen, marked differences and the coverage")
    func pages() async throws {
        let results = try await self.results()
        let pages = HTMLReport(Report(results: results, duration: .seconds(1))).pages
        #expect(pages.map(\.name) == ["index.html", "1-A.html", "2-B.html"])
        let list = pages[0].html
        #expect(list.contains("<p class=\"verdict failed\">failed</p>"))
        #expect(
            list.contains("<a href=\"1-A.html\">A t</a>") && list.contains("<a href=\"2-B.html\">B &lt;b&gt;&amp;</a>")
        )
        let order = list.matches(of: /href="([12]-[AB]).html"/).map(\.1)
        #expect(order == ["2-B", "1-A"], "the failed scenario is the first of the list")
        #expect(list.contains("<span class=\"verdict passed\">passed</span>"))
        #expect(list.contains("<span class=\"verdict failed\">failed</span>"))
        let reached = Set(results.flatMap(\.reached)).count
        #expect(list.contains("\(reached) of \(StepID.documented.count) steps of the flows reached"))
        let (passed, failed) = (pages[1].html, pages[2].html)
        #expect(passed.ranges(of: "<pre class=\"screen\">").count == 4)
        #expect(passed.contains("<span class=\"title\">Open app with PIN</span>"))
        #expect(passed.contains("UC2.3/1.3a PF2.8/1.1d PF2.8/2.1") && passed.contains("wallet registered"))
        #expect(failed.contains("<section id=\"step-2\" class=\"step failed\">"))
        #expect(failed.contains("<a href=\"#step-2\">Go to the step</a>"))
        #expect(
            failed.contains("Introduction (<mark>2</mark>/3)") && failed.contains("Introduction (<mark>1</mark>/3)")
        )
        for page in pages {
            for word in ["http://", "https://", "<script", "<link", "<img", "<iframe", "url(", "<b>", "{{", "}}"] {
                #expect(!page.html.contains(word), "\(page.name) contains \(word)")
            }
        }
    }

    @Test("the recording is asciinema's format 2, with a frame for each step, in order")
    func cast() async throws {
        let results = try await self.results()
        let lines = CastReport.text(results).split(separator: "\n")
        let header = try JSONSerialization.jsonObject(with: Data(lines[0].utf8)) as? [String: Any]
        #expect(header?["version"] as? Int == 2 && header?["width"] as? Int == 62 && header?["height"] as? Int == 22)
        let frames = try lines.dropFirst().map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [Any])
        }
        #expect(frames.count == 7)
        let times = frames.compactMap { $0[0] as? Double }
        #expect(times.count == 7 && times == times.sorted() && frames.allSatisfy { $0[1] as? String == "o" })
        let texts = frames.compactMap { $0[2] as? String }
        #expect(texts[0].hasPrefix("\u{1B}[2J") && texts[3].contains("A 7: enter 111222"))
        #expect(texts[5].contains("B 5: FAILED: expect title"))
    }
}
