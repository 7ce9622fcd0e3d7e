import Foundation
import Testing

@testable import LoadReport

@Suite("The page")
struct PageTests {
    /// Those elements that HTML closes by itself.
    private static let void: Set<String> = ["meta"]

    /// The names of a page's elements, each with its whole tag; nil where they do not nest.
    private static func elements(_ html: String) -> [(name: String, tag: String)]? {
        var open: [String] = []
        var elements: [(name: String, tag: String)] = []
        for match in html.matches(of: /<(\/?)([a-z][a-z0-9]*)([^<>]*)>/) {
            let name = String(match.output.2)
            if match.output.1 == "/" {
                guard open.popLast() == name else { return nil }
            } else {
                elements.append((name, String(match.output.0)))
                if !match.output.3.hasSuffix("/"), !Self.void.contains(name) { open.append(name) }
            }
        }
        return open.isEmpty ? elements : nil
    }

    @Test("every element is closed where it has to be, whatever a run says")
    func nesting() throws {
        for result in [SampleRun.plain, ReportTests.hostile(), ReportTests.empty] {
            #expect(Self.elements(result.text(as: .html)) != nil)
        }
    }

    @Test("nothing that a run says becomes an element, an attribute or an address")
    func hostile() throws {
        let html = ReportTests.hostile().text(as: .html)
        let plain = SampleRun.plain.text(as: .html)
        let names = try Set(#require(Self.elements(html)).map(\.name))
        let known = try Set(#require(Self.elements(plain)).map(\.name))
        #expect(names.subtracting(known).subtracting(["ul", "li", "small"]).isEmpty)
        // What stands in quotes is text, however it looks.
        let tags = try #require(Self.elements(html)).map { $0.tag.replacing(/"[^"]*"/, with: "") }.joined()
        for word in ["onerror", "onload", "script", "href", "src=", "url("] { #expect(!tags.contains(word), "\(word)") }
    }

    @Test("the page asks nothing of a network and runs nothing")
    func selfContained() throws {
        let html = SampleRun.plain.text(as: .html)
        for word in ["http://", "https://", "<script", "<link", "<img", "<iframe", "@import", "url("] {
            #expect(!html.contains(word), "\(word)")
        }
        #expect(html.contains("script-src 'none'; connect-src 'none'; img-src 'none'"))
    }

    @Test("every plot has words, and every table a caption and heads with a scope")
    func accessibility() throws {
        let html = SampleRun.plain.text(as: .html)
        let elements = try #require(Self.elements(html))
        let plots = elements.filter { $0.name == "svg" && $0.tag.contains("role=\"img\"") }
        #expect(plots.count == 4)
        for plot in plots {
            let labels = try #require(plot.tag.firstMatch(of: /aria-labelledby="([^"]+)"/)).output.1
            for id in labels.split(separator: " ") { #expect(html.contains("id=\"\(id)\">"), "\(id)") }
        }
        #expect(
            elements.count { $0.name == "svg" } == elements.count { $0.tag.contains("aria-hidden") && $0.name == "svg" }
                + 4
        )
        #expect(elements.count { $0.name == "table" } == elements.count { $0.name == "caption" })
        #expect(elements.filter { $0.name == "th" }.allSatisfy { $0.tag.contains("scope=") })
    }

    @Test("no more is drawn than a screen can show, and nothing of a long run is left out")
    func longRun() throws {
        let short = SampleRun.plain
        var intervals: [Interval] = []
        for second in 0..<1000 {
            var interval = short.intervals[5 + second % 30]
            interval.start = .seconds(second)
            interval.end = .seconds(second + 1)
            intervals.append(interval)
        }
        let line = TimeLine(RunResult(setting: short.setting, intervals: intervals, end: .completed))
        #expect(line.points.count == 240)
        #expect(line.points.first?.start == 0 && line.points.last?.end == 1000)
        #expect(zip(line.points, line.points.dropFirst()).allSatisfy { $0.end == $1.start })
        let count = intervals.reduce(0) { $0 + $1.totals.count }
        #expect(line.points.reduce(0) { $0 + $1.totals.count } == count)
    }

    @Test(
        "an axis begins and ends around its figures, with few round ticks",
        arguments: [
            0.3, 1, 7, 10, 99, 100, 101, 950, 12_345, 1e6,
        ]
    )
    func axes(highest: Double) {
        let linear = Scale.linear(upTo: highest)
        #expect(linear.upper >= highest && linear.upper <= highest * 2 && (2...7).contains(linear.ticks.count))
        let logarithmic = Scale.logarithmic(from: highest / 50, to: highest)
        #expect(logarithmic.upper >= highest && logarithmic.lower <= max(highest / 50, 1))
        #expect((2...8).contains(logarithmic.ticks.count), "\(logarithmic.ticks)")
        let time = Scale.time(from: 0, to: highest)
        #expect(time.ticks.count <= 7 && time.ticks.allSatisfy { $0 <= highest })
    }

    @Test(
        "figures have three digits that matter",
        arguments: [
            (Figure.time(microseconds: 7), "7 µs"), (Figure.time(microseconds: 99.94), "99.9 µs"),
            (Figure.time(microseconds: 999.4), "999 µs"), (Figure.time(microseconds: 999.6), "1.00 ms"),
            (Figure.time(microseconds: 12_345), "12.3 ms"), (Figure.time(microseconds: 999_500), "1.00 s"),
            (Figure.rate(0), "0.00/s"), (Figure.rate(999.6), "1,000/s"), (Figure.rate(1_234_567), "1,234,567/s"),
            (Figure.percent(0), "0%"), (Figure.percent(0.000_001), "<0.001%"), (Figure.percent(0.999_999), ">99.9%"),
            (Figure.percent(0.0012), "0.12%"), (Figure.percent(1), "100%"), (Figure.bytes(1023), "1023 B"),
            (Figure.bytes(1_572_864), "1.50 MiB"), (Figure.count(-1234), "−1,234"), (Figure.fixed(-0.001, 2), "0.00"),
            (Figure.fixed(0.05, 3), "0.050"), (Figure.fixed(.infinity, 2), "inf"), (Figure.fixed(2.5, 0), "2"),
        ]
    )
    func figures(text: String, expected: String) {
        #expect(text == expected)
    }
}
