@testable import LoadEngine
import Testing

@Suite("JSON with numbers out of range")
struct DamagedNumbersTests {
    @Test(
        "a number that no run can have is malformed and not summed",
        arguments: [
            ("\"unsent\":0", "\"unsent\":9223372036854775807"), ("\"unsent\":0", "\"unsent\":-1"),
            ("\"valid\":", "\"failed:other\":9223372036854775807,\"valid\":"),
            ("\"unexpected\":0", "\"unexpected\":9223372036854775807"),
            ("\"violations\":{\"count\":0", "\"violations\":{\"count\":9223372036854775807"),
            ("\"connections\":64", "\"connections\":9223372036854775807"),
            ("\"endMicros\":", "\"endMicros\":9000000000"), ("\"startMicros\":", "\"startMicros\":-1"),
            ("\"plannedRate\":400", "\"plannedRate\":1e99"),
        ]
    )
    func numbers(good: String, bad: String) throws {
        let text = SampleRun.plain.text(as: .json)
        let damaged = text.replacing(good, with: bad)
        try #require(damaged != text)
        #expect(throws: RunResultError.malformed(field: "intervals")) { try RunResult(json: Array(damaged.utf8)) }
    }

    @Test("an interval without length has no busy cores, and its run has a page")
    func noLength() throws {
        var run = SampleRun.plain
        let last = run.intervals.count - 1
        run.intervals[last].start = run.intervals[last].end
        run.intervals[last - 1].end = run.intervals[last].end
        try #require(run.intervals[last].gauges.serverCPUSeconds != nil)
        #expect(run.text(as: .html).contains("Busy cores over time"))
    }

    @Test("more descriptions of violations than a run keeps, and a table without text, are written")
    func odd() throws {
        let text = SampleRun.violated(by: "a right PIN was called wrong").jsonText
        let many = (0..<30).map { "\"example \($0)\"" }.joined(separator: ",")
        let damaged = text.replacing("\"examples\":[\"a right PIN was called wrong\"]", with: "\"examples\":[\(many)]")
        try #require(damaged != text)
        let run = try RunResult(json: Array(damaged.utf8))
        var violations = try #require(run.intervals.first { $0.violations.count > 0 }).violations
        violations.add(violations)
        #expect(violations.examples.count == 30)
        #expect(run.text(as: .text).contains("example 0"))
        var bare = SampleRun.plain
        bare.sections.append(ReportSection(title: "Bare", columns: [], rows: [[.text("")]]))
        #expect(bare.text(as: .text).contains("Bare"))
    }

    @Test("a rate above the range of integers is written as the largest one")
    func hugeRate() {
        #expect(NumberText.rate(1e30) == "9,223,372,036,854,775,807/s")
    }
}
