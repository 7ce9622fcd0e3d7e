import LoadReport
import TestSupport
import Testing

@Suite("Runs that ended differently, held against each other")
struct ComparedEndsTests {
    private static let whole = SampleRun.result(thresholds: [])

    private static func cut(_ end: RunEnd, after seconds: Int) -> RunResult {
        var result = Self.whole
        result.intervals = Array(result.intervals.prefix(seconds))
        result.end = end
        return result
    }

    @Test(
        "one that did not come to its end is named in the first line",
        arguments: [
            (RunEnd.interrupted, "interrupted"),
            (.aborted, "ended by a threshold; FAILED: ended by a threshold that held again at the end"),
            (.lost, "ended: the server was lost; FAILED: the server was lost"),
        ]
    )
    func ends(end: RunEnd, words: String) {
        let comparison = Comparison(Self.whole, Self.cut(end, after: 20))
        #expect(comparison.concerns == ["after: \(words)"])
        #expect(comparison.text().hasPrefix("CAUTION  after: \(words)\n"))
        let ends = comparison.differences.filter { $0.name == "end" || $0.name == "measured" }
        #expect(ends.map(\.before) == ["completed", "35.0 s"])
        #expect(ends.last?.after == "15.0 s")
        #expect(comparison.jsonText().contains("\"after: \(words)\""))
    }

    @Test("one that failed is named as well, and one that did neither is not")
    func failed() {
        let violated = SampleRun.result(
            of: SampleRun.violated(by: "right called wrong").intervals,
            seed: 1,
            thresholds: []
        )
        let comparison = Comparison(violated, Self.whole)
        #expect(comparison.concerns == ["before: FAILED: 1 impossible answers"])
        #expect(Comparison(Self.whole, Self.whole).concerns.isEmpty)
        #expect(Comparison(Self.whole, Self.whole).differences.isEmpty)
    }
}
