@testable import LoadEngine
import Testing

@Suite("Comparison of runs that ended differently")
struct ComparedEndsTests {
    private static let whole = SampleRun.result(thresholds: [])

    private static func cut(_ end: RunEnd, after seconds: Int) -> RunResult {
        var result = Self.whole
        result.intervals = Array(result.intervals.prefix(seconds))
        result.end = end
        return result
    }

    @Test(
        "a run that did not complete its plan is named in the first line",
        arguments: [
            (RunEnd.interrupted, "interrupted"),
            (.aborted, "aborted by a threshold; FAILED: aborted by a threshold that was met again at the end"),
            (.lost, "server lost; FAILED: the server stopped answering"),
        ]
    )
    func incompleteRun(end: RunEnd, words: String) {
        let comparison = Comparison(Self.whole, Self.cut(end, after: 20))
        #expect(comparison.concerns == ["after: \(words)"])
        #expect(comparison.text().hasPrefix("CAUTION  after: \(words)\n"))
        let ends = comparison.differences.filter { $0.name == "end" || $0.name == "measured" }
        #expect(ends.map(\.before) == ["completed", "35.0 s"])
        #expect(ends.last?.after == "15.0 s")
    }

    @Test("a failed run is named, a run that completed and passed is not")
    func failedRun() {
        let violated = SampleRun.result(
            of: SampleRun.violated(by: "right called wrong").intervals,
            seed: 1,
            thresholds: []
        )
        let comparison = Comparison(violated, Self.whole)
        #expect(comparison.concerns == ["before: FAILED: 1 violation"])
        #expect(Comparison(Self.whole, Self.whole).concerns.isEmpty)
        #expect(Comparison(Self.whole, Self.whole).differences.isEmpty)
    }
}
