import Foundation
import Testing

@testable import LoadEngine

@Suite("HTML report")
struct PageTests {
    /// Elements without an end tag.
    private static let void: Set<String> = ["meta"]

    /// The names and tags of all elements; nil if they are not nested correctly.
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

    @Test("every element is closed, for any content of the result")
    func elementsNest() throws {
        for result in [SampleRun.plain, ReportTests.hostile(), ReportTests.empty] {
            #expect(Self.elements(result.text(as: .html)) != nil)
        }
    }

    @Test("no text of the result becomes an element, an attribute or an address")
    func hostileTextIsEscaped() throws {
        let html = ReportTests.hostile().text(as: .html)
        let plain = SampleRun.plain.text(as: .html)
        let names = try Set(#require(Self.elements(html)).map(\.name))
        let known = try Set(#require(Self.elements(plain)).map(\.name))
        #expect(names.subtracting(known).subtracting(["ul", "li", "small"]).isEmpty)
        // Attribute values in quotes are text.
        let tags = try #require(Self.elements(html)).map { $0.tag.replacing(/"[^"]*"/, with: "") }.joined()
        for word in ["onerror", "onload", "script", "href", "src=", "url("] { #expect(!tags.contains(word), "\(word)") }
    }

    @Test("the page loads nothing and contains no script")
    func pageIsSelfContained() throws {
        let html = SampleRun.plain.text(as: .html)
        for word in ["http://", "https://", "<script", "<link", "<img", "<iframe", "@import", "url("] {
            #expect(!html.contains(word), "\(word)")
        }
        #expect(html.contains("script-src &#39;none&#39;; connect-src &#39;none&#39;; img-src &#39;none&#39;"))
        #expect(!html.contains("{{") && !html.contains("}}"))
    }

    @Test("every plot has a description, and every table a caption and headings with a scope")
    func pageIsAccessible() throws {
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

    @Test("a long run is drawn with at most 240 points, which contain all operations")
    func longRunIsMerged() throws {
        let short = SampleRun.plain
        var intervals: [Interval] = []
        for second in 0..<1000 {
            var interval = short.intervals[5 + second % 30]
            interval.start = .seconds(second)
            interval.end = .seconds(second + 1)
            intervals.append(interval)
        }
        let timeline = Timeline(RunResult(setting: short.setting, intervals: intervals, end: .completed))
        #expect(timeline.points.count == 240)
        #expect(timeline.points.first?.start == 0 && timeline.points.last?.end == 1000)
        #expect(zip(timeline.points, timeline.points.dropFirst()).allSatisfy { $0.end == $1.start })
        let count = intervals.reduce(0) { $0 + $1.totals.count }
        #expect(timeline.points.reduce(0) { $0 + $1.totals.count } == count)
    }

    @Test(
        "an axis encloses its values and has few round ticks",
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
        "numbers have three significant digits",
        arguments: [
            (NumberText.time(microseconds: 7), "7 µs"), (NumberText.time(microseconds: 99.94), "99.9 µs"),
            (NumberText.time(microseconds: 999.4), "999 µs"), (NumberText.time(microseconds: 999.6), "1.00 ms"),
            (NumberText.time(microseconds: 12_345), "12.3 ms"), (NumberText.time(microseconds: 999_500), "1.00 s"),
            (NumberText.rate(0), "0.00/s"), (NumberText.rate(999.6), "1,000/s"),
            (NumberText.rate(1_234_567), "1,234,567/s"), (NumberText.percent(0), "0%"),
            (NumberText.percent(0.000_001), "<0.001%"), (NumberText.percent(0.999_999), ">99.9%"),
            (NumberText.percent(0.0012), "0.12%"), (NumberText.percent(1), "100%"), (NumberText.bytes(1023), "1023 B"),
            (NumberText.bytes(1_572_864), "1.50 MiB"), (NumberText.count(-1234), "−1,234"),
            (NumberText.fixed(-0.001, 2), "0.00"), (NumberText.fixed(0.05, 3), "0.050"),
            (NumberText.fixed(.infinity, 2), "inf"), (NumberText.fixed(2.5, 0), "2"),
        ]
    )
    func numberTexts(text: String, expected: String) {
        #expect(text == expected)
    }
}
