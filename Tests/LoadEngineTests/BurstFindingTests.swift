@testable import LoadEngine
import Testing

@Suite("Conclusions from bursts of guesses")
struct BurstFindingTests {
    @Test(
        "too few bursts to detect a server that accepts far too much are inconclusive",
        arguments: [
            // Guesses per burst, with four per round; bursts, and those in which the right guess was accepted.
            (16, 0, 0, BurstStatistics.Finding.none), (16, 2, 2, .tooFew), (16, 2, 0, .tooFew), (16, 5, 3, .tooFew),
            (16, 10, 3, .tooFew), (16, 100, 25, .withinBound), (16, 100, 33, .withinBound), (16, 100, 49, .excessive),
            (8, 10, 5, .tooFew), (8, 100, 50, .withinBound), (8, 100, 70, .excessive),
            (64, 40, 3, .tooFew), (64, 400, 25, .withinBound),
            // At most a round: no number could be too high.
            (4, 2, 2, .noLimit), (4, 1000, 1000, .noLimit), (2, 10, 10, .noLimit),
        ]
    )
    func findings(size: Int, bursts: Int, timesIn: Int, finding: BurstStatistics.Finding) throws {
        var statistics = BurstStatistics(size: size, attempts: 4)
        for burst in 0..<bursts { statistics.add(isRightIn: burst < timesIn, judged: min(4, size)) }
        #expect(statistics.finding == finding, "\(statistics.interval), \(statistics.farTooMany)")
        let section = statistics.section(try BurstPlan(parsing: "burst:\(size)"))
        let verdict: ReportSection.Verdict =
            finding == .withinBound ? .passed : finding == .excessive ? .failed : .neutral
        #expect(section.verdict == verdict)
    }

    @Test("an inconclusive result is named")
    func sentences() {
        var few = BurstStatistics(size: 16, attempts: 4)
        for _ in 0..<2 { few.add(isRightIn: true, judged: 4) }
        #expect(few.sentence.hasPrefix("TOO FEW BURSTS: the right guess was accepted in 2 of 2 bursts (100.0%)"))
        var small = BurstStatistics(size: 4, attempts: 4)
        small.add(isRightIn: true, judged: 4)
        #expect(small.sentence.hasPrefix("NO LIMIT TESTED: a round allows all 4 guesses of a burst"))
    }
}
