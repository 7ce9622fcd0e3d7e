import Foundation
import TestSupport
import Testing

@testable import LoadEngine

@Suite("Reports of a run")
struct ReportTests {
    /// A result with special characters in every text.
    static func hostile() -> RunResult {
        var result = SampleRun.violated(by: "a \"right\" PIN, <b>wrong</b> & 'so'")
        result.setting.target = "</title><script>alert(1)</script>"
        result.setting.plan.append(PlanEntry("note\u{1}", "a,b\n\"c\" <img src=x onerror=y>"))
        result.intervals[3].stage = "a,\"b\"\nc"
        result.sections.append(
            ReportSection(title: "<svg onload=x>", columns: ["<i>"], rows: [[.text("<u>&")]], verdict: .failed)
        )
        result.markers.append(Marker(at: .seconds(39), "<b>"))
        result.notes.append("</section>")
        return result
    }

    @Test("the JSON of a run matches the schema and reads back as the same run")
    func jsonRoundTrip() throws {
        let schema = try JSONSchema(
            contentsOf: Golden.folder.appendingPathComponent("../../../docs/load-result.schema.json").path
        )
        for result in [SampleRun.plain, Self.hostile(), Self.empty] {
            let text = result.text(as: .json)
            #expect(try RunResult(json: Array(text.utf8)) == result)
            #expect(schema.findings(in: text).isEmpty, "\(schema.findings(in: text).prefix(5))")
        }
    }

    @Test("the committed JSON can be read")
    func committedJSON() throws {
        var result = SampleRun.plain
        result.intervals = Array(result.intervals[16..<26])
        if ProcessInfo.processInfo.environment["UPDATE_GOLDENS"] == "1" {
            try Golden.expect("sample.json", result.text(as: .json))
        }
        #expect(try RunResult(json: Array(Golden.text("sample.json").utf8)) == result)
    }

    @Test("the schema rejects an unknown field")
    func schemaIsStrict() throws {
        let schema = try JSONSchema(
            contentsOf: Golden.folder.appendingPathComponent("../../../docs/load-result.schema.json").path
        )
        let text = SampleRun.plain.text(as: .json)
        for (name, other) in [("\"seed\"", "\"sead\""), ("\"p99\"", "\"p98\""), ("\"completed\"", "\"complete\"")] {
            #expect(!schema.findings(in: text.replacingOccurrences(of: name, with: other)).isEmpty, "\(name)")
        }
    }

    /// A result without measurements.
    static let empty = RunResult(setting: SampleRun.setting(1), intervals: [], end: .lost)

    @Test(
        "each invalid file is rejected with its reason",
        arguments: [
            ("", RunResultError.notAResult), ("{}", .notAResult), ("[1]", .notAResult),
            ("{\"v\":1}", .otherVersion(1)), ("{\"v\":3,\"other\":1}", .otherVersion(3)),
            ("{\"v\":2}", .malformed(field: "setting")),
            ("{\"v\":2,\"setting\":{}}", .malformed(field: "setting.command")),
        ] as [(String, RunResultError)]
    )
    func refused(text: String, reason: RunResultError) {
        #expect(throws: reason) { try RunResult(json: Array(text.utf8)) }
    }

    @Test("an invalid number is reported even if the decoder does not name its field")
    func damagedNumber() {
        let text = SampleRun.plain.text(as: .json).replacing(/"seed":\d+/, with: "\"seed\":-1")
        let error = #expect(throws: RunResultError.self) { try RunResult(json: Array(text.utf8)) }
        #expect(error?.description == "a value is invalid")
    }

    @Test("a damaged histogram is reported with its field")
    func damagedHistogram() throws {
        var result = SampleRun.plain
        result.intervals = Array(result.intervals.prefix(1))
        let text = result.text(as: .json).replacing("\"values\":[", with: "\"values\":[0,0,", maxReplacements: 1)
        let error = #expect(throws: RunResultError.self) { try RunResult(json: Array(text.utf8)) }
        #expect(error?.description.contains("intervals.0.operations.") == true)
        #expect(error?.description.contains("values") == true)
    }

    @Test(
        "each report of the sample run equals the reviewed one",
        arguments: [
            (LoadReportFormat.text, "sample.txt"), (.csv, "sample.csv"), (.html, "sample.html"),
        ]
    )
    func goldens(format: LoadReportFormat, name: String) throws {
        try Golden.expect(name, SampleRun.plain.text(as: format))
    }

    @Test("a run without measurements can be written in every format", arguments: LoadReportFormat.allCases)
    func emptyRun(format: LoadReportFormat) {
        #expect(Self.empty.text(as: format).utf8.last == 0x0A)
    }

    @Test("every row of the CSV has every column, for any stage name")
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
