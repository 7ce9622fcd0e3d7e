import Foundation
import TestSupport
import Testing

@testable import LoadReport

@Suite("Reports of a run")
struct ReportTests {
    /// All that a run can hold, with texts that are no friends of any format.
    static func hostile() -> RunResult {
        var result = SampleRun.violated(by: "a \"right\" PIN, <b>wrong</b> & 'so'")
        result.setting.target = "</title><script>alert(1)</script>"
        result.setting.plan.append(PlanEntry("note\u{1}", "a,b\n\"c\" <img src=x onerror=y>"))
        result.intervals[3].stage = "a,\"b\"\nc"
        result.sections.append(
            ReportSection(title: "<svg onload=x>", columns: ["<i>"], rows: [["<u>&"]], verdict: .failed)
        )
        result.markers.append(Marker(at: .seconds(39), "<b>"))
        result.notes.append("</section>")
        return result
    }

    @Test("the JSON of a run is that run, and is what its schema says")
    func json() throws {
        let schema = try JSONSchema(
            contentsOf: Golden.folder.appendingPathComponent("../../../docs/load-result.schema.json").path
        )
        for result in [SampleRun.plain, Self.hostile(), Self.empty] {
            let text = result.text(as: .json)
            #expect(try RunResult(json: Array(text.utf8)) == result)
            #expect(schema.findings(in: text).isEmpty, "\(schema.findings(in: text).prefix(5))")
        }
    }

    @Test("a result that was written once can still be read")
    func written() throws {
        var result = SampleRun.plain
        result.intervals = Array(result.intervals[16..<26])
        if ProcessInfo.processInfo.environment["UPDATE_GOLDENS"] == "1" {
            try Golden.expect("sample.json", result.text(as: .json))
        }
        #expect(try RunResult(json: Array(Golden.text("sample.json").utf8)) == result)
    }

    @Test("a field that the schema does not know is found in the run's JSON")
    func schemaIsStrict() throws {
        let schema = try JSONSchema(
            contentsOf: Golden.folder.appendingPathComponent("../../../docs/load-result.schema.json").path
        )
        let text = SampleRun.plain.text(as: .json)
        for (name, other) in [("\"seed\"", "\"sead\""), ("\"p99\"", "\"p98\""), ("\"completed\"", "\"complete\"")] {
            #expect(!schema.findings(in: text.replacingOccurrences(of: name, with: other)).isEmpty, "\(name)")
        }
    }

    /// A run that ended before anything was measured.
    static let empty = RunResult(setting: SampleRun.setting(1), intervals: [], end: .lost)

    @Test(
        "each file that is no result is refused for its own reason",
        arguments: [
            ("", RunResultError.notAResult), ("{}", .notAResult), ("[1]", .notAResult),
            ("{\"v\":2,\"other\":1}", .newer(version: 2)), ("{\"v\":1}", .malformed(field: "setting")),
            ("{\"v\":1,\"setting\":{}}", .malformed(field: "setting.command")),
        ] as [(String, RunResultError)]
    )
    func refused(text: String, reason: RunResultError) {
        #expect(throws: reason) { try RunResult(json: Array(text.utf8)) }
    }

    @Test("a number that cannot be is told as well, though nobody knows of which field")
    func damagedNumber() {
        let text = SampleRun.plain.text(as: .json).replacing(/"seed":\d+/, with: "\"seed\":-1")
        let error = #expect(throws: RunResultError.self) { try RunResult(json: Array(text.utf8)) }
        #expect(error?.description == "a value in it is not what it has to be")
    }

    @Test("a damaged histogram is named by its place")
    func damagedHistogram() throws {
        var result = SampleRun.plain
        result.intervals = Array(result.intervals.prefix(1))
        let text = result.text(as: .json).replacingOccurrences(of: "HISTF", with: "HISTX")
        let error = #expect(throws: RunResultError.self) { try RunResult(json: Array(text.utf8)) }
        #expect(error?.description.contains("intervals.0.operations.") == true)
        #expect(error?.description.contains("histogram") == true)
    }

    @Test(
        "each report of the sample run is the one that was looked at",
        arguments: [
            (ReportFormat.text, "sample.txt"), (.csv, "sample.csv"), (.hgrm, "sample.hgrm"), (.html, "sample.html"),
        ]
    )
    func goldens(format: ReportFormat, name: String) throws {
        try Golden.expect(name, SampleRun.plain.text(as: format))
    }

    @Test("a run that measured nothing can still be told in every form", arguments: ReportFormat.allCases)
    func nothing(format: ReportFormat) {
        #expect(Self.empty.text(as: format).utf8.last == 0x0A)
    }

    @Test("the percentile table ends at the last sample, which is all of them")
    func percentileTable() throws {
        let result = SampleRun.plain
        let all = result.totals.figures()
        let lines = result.text(as: .hgrm).split(separator: "\n")
        let last = try #require(lines.last { !$0.hasPrefix("#") }).split(separator: " ")
        #expect(last.count == 4 && last[1] == "1.000000" && last[2] == "\(all.latency.count)" && last[3] == "inf")
        #expect(last[0] == Figure.fixed(Double(all.latency.max ?? 0) / 1000, 3))
        #expect(result.text(as: .hgrm, of: .unlock) != result.text(as: .hgrm))
    }

    @Test("every row of the CSV has every column, whatever a stage is called")
    func csv() throws {
        let text = Self.hostile().text(as: .csv)
        var fields = [0]
        var isQuoted = false
        for character in text {
            if character == "\"" { isQuoted.toggle() }
            if isQuoted { continue }
            if character == "," { fields[fields.count - 1] += 1 }
            if character == "\r\n" { fields.append(0) }
        }
        #expect(fields.count == SampleRun.seconds + 2 && fields.removeLast() == 0)
        #expect(Set(fields).count == 1)
        #expect(text.contains("\"a,\"\"b\"\"\nc\""))
    }
}

@Suite("The interval log")
struct IntervalLogTests {
    @Test("the sample run's log is the one that HdrHistogram's own tools read, and reads back as what was measured")
    func golden() throws {
        let result = SampleRun.plain
        let log = IntervalLog(result)
        #expect(try IntervalLog(reading: result.text(as: .hlog)) == log)
        // Not compared as text: another zlib may compress otherwise.
        if ProcessInfo.processInfo.environment["UPDATE_GOLDENS"] == "1" { try Golden.expect("sample.hlog", log.text) }
        #expect(try IntervalLog(reading: Golden.text("sample.hlog")) == log)
    }

    @Test("the log's lines without a tag are the run, and those of a tag its kind of operation")
    func sums() throws {
        let result = SampleRun.plain
        let log = try IntervalLog(reading: result.text(as: .hlog))
        func sum(_ tag: String?) -> Latencies {
            log.entries.filter { $0.tag == tag }.reduce(into: Latencies()) { $0.add($1.latencies) }
        }
        #expect(sum(nil) == result.totals.figures().latency)
        #expect(sum("check") == result.totals.figures(of: .check).latency)
        #expect(sum("unlock.service") == result.totals.figures(of: .unlock).serviceTime)
        #expect(log.startMilliseconds == result.setting.startMilliseconds)
        #expect(log.entries.filter { $0.tag == nil }.map(\.start) == (5..<40).map { .seconds($0) })
    }

    @Test(
        "each malformed line is refused with its number",
        arguments: [
            ("#[StartTime: x]", IntervalLogError.malformed(line: 1)), ("\n1,1,1", .malformed(line: 2)),
            ("Tag=a,1,1,HISTFAAA", .malformed(line: 1)), ("-1,1,1,HISTFAAA", .malformed(line: 1)),
            ("#c\n\"h\"\n1,1,1,HIST", .histogram(line: 3, .wrongCookie)), ("1,1,1,?", .histogram(line: 1, .notBase64)),
        ] as [(String, IntervalLogError)]
    )
    func malformed(text: String, reason: IntervalLogError) {
        #expect(throws: reason) { try IntervalLog(reading: text) }
    }
}
