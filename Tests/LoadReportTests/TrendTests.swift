import Foundation
import LoadReport
import Testing

@Suite("Trends over many runs")
struct TrendTests {
    private static func run(_ name: String, day: Int64, seed: UInt64, slowdown: Double = 1) -> Trend.Run {
        var result = SampleRun.result(seed: seed, slowdown: slowdown, thresholds: [])
        result.setting.startMilliseconds += day * 86_400_000
        return Trend.Run(name: name, result: result)
    }

    @Test("runs are ordered by their start, and noise is not a regression")
    func steady() {
        let trend = Trend(of: [
            Self.run("c.json", day: 2, seed: 3), Self.run("a.json", day: 0, seed: 1),
            Self.run("b.json", day: 1, seed: 2),
        ])
        #expect(!trend.hasRegression, "\(trend.text)")
        let places = ["a.json", "b.json", "c.json"].compactMap { trend.text.range(of: $0)?.lowerBound }
        #expect(places.count == 3 && places == places.sorted())
    }

    @Test("a slower newest run is a regression, a slower earlier one is not")
    func regression() {
        let slow = Trend(of: [Self.run("a", day: 0, seed: 1), Self.run("b", day: 1, seed: 2, slowdown: 1.5)])
        #expect(slow.hasRegression)
        #expect(slow.text.contains("service.p50: WORSE"), "\(slow.text)")
        let mended = Trend(of: [
            Self.run("a", day: 0, seed: 1), Self.run("b", day: 1, seed: 2, slowdown: 1.5),
            Self.run("c", day: 2, seed: 3),
        ])
        #expect(!mended.hasRegression, "\(mended.text)")
    }

    @Test("a failed newest run is a regression even if it is as fast")
    func failure() {
        var failed = SampleRun.violated(by: "a right PIN was called wrong")
        failed.setting.startMilliseconds += 86_400_000
        let trend = Trend(of: [Self.run("a", day: 0, seed: 1), Trend.Run(name: "b", result: failed)])
        #expect(trend.hasRegression)
        #expect(trend.text.contains("violation"), "\(trend.text)")
    }

    @Test("runs with different plans are not compared")
    func plans() {
        var other = SampleRun.result(seed: 2, slowdown: 2, thresholds: [])
        other.setting.startMilliseconds += 86_400_000
        other.setting.plan.append(PlanEntry("think", "1s"))
        let trend = Trend(of: [Self.run("a", day: 0, seed: 1), Trend.Run(name: "b", result: other)])
        #expect(!trend.hasRegression)
        #expect(trend.text.components(separatedBy: "One run;").count == 3, "\(trend.text)")
    }

    @Test("the page has a plot for each metric and escapes the texts of results")
    func page() {
        var run = SampleRun.result(seed: 2, thresholds: [])
        run.setting.serverBuild = "<script>alert(1)</script>"
        let html = Trend(of: [Self.run("a", day: 0, seed: 1), Trend.Run(name: "b", result: run)]).html
        #expect(html.components(separatedBy: "<figure>").count == 4)
        // The plot of the latency has the times of the table.
        let times = html.components(separatedBy: "<figure>").map { $0.matches(of: /[0-9] (µs|ms)</).map(\.1) }
        #expect(times.count == 4 && Set(times[2]) == ["ms"], "\(times)")
        #expect(!html.contains("<script"))
        #expect(html.contains("&lt;script&gt;"))
        #expect(!html.contains("{{"))
    }
}
