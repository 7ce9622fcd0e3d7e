internal import FoundationEssentials
internal import Mustache

/// A run as a single HTML page without scripts, network access or other files.
struct LoadReportPage {
    private let result: RunResult
    private var totals: Totals { self.result.totals }

    init(_ result: RunResult) { self.result = result }

    /// The values that the template reads by name.
    private struct Values {
        let policy: String
        let frame = Chart.frame
        let result: String
        let failures: String?
        let target: String
        let headline: String
        let startTime: String
        let startText: String
        let tiles: [Tile]
        let warnings: [ReportPart]
        let charts: [Chart]
        let parts: [ReportPart]
        let data: ReportTable?
    }

    private struct Tile {
        let name: String
        let value: String
        let detail: String
        let isBad: Bool

        init(_ name: String, _ value: String, _ detail: String, isBad: Bool = false) {
            (self.name, self.value, self.detail, self.isBad) = (name, value, detail, isBad)
        }
    }

    /// Forbids scripts, requests and forms, in case the template fails to escape text from the server or the plan.
    private static let policy = [
        "script-src", "connect-src", "img-src", "font-src", "media-src", "object-src", "frame-src", "form-action",
        "base-uri",
    ].map { "\($0) 'none'" }.joined(separator: "; ")

    /// The templates of the page and its parts, by the name used to include them; they escape every value.
    private static let templates: MustacheLibrary = {
        let files = [
            "page": PackageResources.page_mustache, "part": PackageResources.part_mustache,
            "table": PackageResources.table_mustache, "chart": PackageResources.chart_mustache,
            "style": PackageResources.style_css,
        ]
        do {
            return MustacheLibrary(
                templates: try files.mapValues { try MustacheTemplate(string: String(decoding: $0, as: UTF8.self)) }
            )
        } catch {
            preconditionFailure("the template does not parse: \(error)")
        }
    }()

    var html: String {
        let seconds = self.result.setting.startMilliseconds / 1000
        let start = Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
        let values = Values(
            policy: Self.policy,
            result: self.result.isSuccess ? "passed" : "failed",
            failures: self.result.isSuccess ? nil : self.result.failures.joined(separator: ", "),
            target: self.result.setting.target,
            headline: self.result.headline,
            startTime: start,
            startText: start.replacing("T", with: " ").replacing("Z", with: " UTC"),
            tiles: self.tiles,
            warnings: self.result.warnings,
            charts: Charts(self.result).all,
            parts: self.result.parts + self.events,
            data: self.data
        )
        return Self.templates.render(values, withTemplate: "page") ?? ""
    }

    private var tiles: [Tile] {
        let all = self.totals.figures()
        let times = all.latency
        let violations = self.totals.violations.count
        let errors = all.count > 0 ? NumberText.percent(Double(all.failures) / Double(all.count)) : "–"
        let mean = times.mean.map { "mean \(NumberText.time(microseconds: $0))" } ?? ""
        func percentile(_ percent: Double) -> String { NumberText.time(times.percentile(percent)) }
        var tiles = [
            Tile(
                "verdicts",
                self.totals.rate.map(NumberText.rate) ?? "–",
                "\(NumberText.count(all.answered)) in total"
            ),
            Tile("p50", percentile(50), "latency \(self.result.latencyOrigin)"),
            Tile("p99", percentile(99), "p99.9 \(percentile(99.9))"),
            Tile("max", NumberText.time(times.max), mean),
            Tile(
                "errors",
                errors,
                "\(NumberText.count(all.failures)) of \(NumberText.count(all.count))",
                isBad: all.failures > 0
            ),
            Tile(
                "violations",
                NumberText.count(violations),
                "\(NumberText.count(all.unexpected)) unexpected",
                isBad: violations > 0
            ),
        ]
        if let cost = self.totals.serverCPUMicrosecondsPerOperation {
            let memory = self.totals.serverPeakResidentBytes.map { "at most \(NumberText.bytes(Double($0)))" } ?? ""
            tiles.append(Tile("server CPU per operation", NumberText.time(microseconds: cost), memory))
        }
        if self.totals.unsent > 0 {
            tiles.append(Tile("unsent", NumberText.count(self.totals.unsent), "too many in flight", isBad: true))
        }
        return tiles
    }

    private var events: [ReportPart] {
        guard !self.result.markers.isEmpty else { return [] }
        var table = ReportTable("Events", columns: ["at", "event"], isLeft: true)
        for marker in self.result.markers {
            table.add("\(NumberText.fixed(marker.at.inSeconds, 1)) s", [marker.text])
        }
        return [ReportPart(heading: "Events", sentences: ["Dotted lines in the plots."], tables: [table])]
    }

    /// The plotted values as a table, for copying and for readers who cannot see the plots.
    private var data: ReportTable? {
        let points = Timeline(self.result, limit: 120).points
        guard !points.isEmpty else { return nil }
        let columns = ["from", "to", "rate", "planned", "errors", "p50", "p99", "max", "in flight", "connections"]
        var table = ReportTable("Data of the plots", columns: columns)
        for point in points {
            let times = point.figures.latency
            table.add(
                "\(NumberText.fixed(point.start, 1)) s",
                [
                    "\(NumberText.fixed(point.end, 1)) s", point.totals.rate.map(NumberText.rate) ?? "–",
                    point.plannedRate.map(NumberText.rate) ?? "–", NumberText.count(point.figures.failures),
                    NumberText.time(times.percentile(50)), NumberText.time(times.percentile(99)),
                    NumberText.time(times.max), NumberText.count(point.gauges.inFlight),
                    NumberText.count(point.gauges.connections),
                ]
            )
        }
        return table
    }
}
