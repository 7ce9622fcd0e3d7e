import AttestationVerifier
import Foundation
import HostSystem
import TestSupport
import Testing

@testable import MetricsEndpoint
@testable import Telemetry

@Suite("The metric catalog and the files that use it")
struct CatalogueTests {
    private static func text(_ path: String, file: String = #filePath) throws -> String {
        let root = URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return String(decoding: try DurableFile.read("\(root.path)/\(path)", atMost: 1 << 22), as: UTF8.self)
    }

    private static func path(_ path: String, file: String = #filePath) -> String {
        URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent(path).path
    }

    /// The metric names in a text, without the suffixes of histograms.
    private static func names(in text: String) -> Set<String> {
        let isPart: (Character) -> Bool = { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
        let known = Set(MetricCatalogue.all.map(\.name))
        let words = text.split(whereSeparator: { !isPart($0) }).map(String.init)
        return Set(
            words.filter { $0.hasPrefix("remote_pin_") || $0.hasPrefix("process_") }.map { word in
                for end in ["_bucket", "_sum", "_count"] where !known.contains(word) && word.hasSuffix(end) {
                    return String(word.dropLast(end.count))
                }
                return word
            }
        )
    }

    @Test(
        "every name is unique and has the characters and suffix of its kind",
        arguments: MetricCatalogue.all
    )
    func conventions(metric: MetricDefinition) {
        #expect(MetricCatalogue.all.count { $0.name == metric.name } == 1)
        #expect(metric.name.wholeMatch(of: /(remote_pin|process)(_[a-z]+)+/) != nil)
        #expect(metric.help.hasSuffix(".") && !metric.help.contains("\n"))
        switch metric.kind {
        case .counter: #expect(metric.name.hasSuffix("_total"))
        case .gauge: #expect(!metric.name.hasSuffix("_total"))
        case .histogram(let bounds):
            #expect(["_seconds", "_steps", "_bytes"].contains { metric.name.hasSuffix($0) })
            #expect(bounds == bounds.sorted() && Set(bounds).count == bounds.count && bounds.count <= 16)
        }
        for label in metric.labels {
            guard case .listed(let values) = label.values else { continue }
            #expect(Set(values).count == values.count && !values.isEmpty)
            for value in values { #expect(value.wholeMatch(of: /[a-z]+(_[a-z0-9]+)*/) != nil, "\(value)") }
        }
    }

    @Test("the reasons of refused evidence are the verifier's")
    func refusals() {
        #expect(MetricCatalogue.attestationRefusals == AttestationRefusal.allCases.map(\.rawValue))
    }

    @Test("the total number of series is below 500")
    func series() {
        let most = MetricCatalogue.all.reduce(0) { count, metric in
            guard case .histogram(let bounds) = metric.kind else { return count + metric.mostSeries }
            return count + metric.mostSeries * (bounds.count + 3)
        }
        #expect(most < 500, "\(most)")
    }

    @Test("docs/metrics.md is up to date")
    func page() throws {
        #expect(try Self.text("docs/metrics.md") == MetricCatalogue.markdown(), "remote-pin-server metrics --markdown")
    }

    @Test("the sources and the catalog contain the same metrics")
    func sources() throws {
        let files = FileManager.default.enumerator(atPath: Self.path("Sources"))
        var (found, catalog): (Set<String>, Set<String>) = ([], [])
        while let path = files?.nextObject() as? String {
            guard path.hasSuffix(".swift") else { continue }
            let text = try Self.text("Sources/\(path)")
            // The sources use metric names as string literals.
            let names = Set(text.matches(of: /"((remote_pin|process)_[a-z_]+)"/).map { String($0.1) })
            if path.contains("MetricCatalogue") { catalog.formUnion(names) } else { found.formUnion(names) }
        }
        let known = Set(MetricCatalogue.all.map(\.name))
        #expect(catalog.union((MetricDefinition.process + [MetricDefinition.faults]).map(\.name)) == known)
        #expect(found.subtracting(known).isEmpty, "not in the catalog: \(found.subtracting(known).sorted())")
        #expect(known.subtracting(found).isEmpty, "not used in the sources: \(known.subtracting(found).sorted())")
    }

    @Test(
        "every metric in the alerts and the dashboard is in the catalog",
        arguments: [
            "deploy/prometheus/alerts.yml", "deploy/prometheus/alerts-test.yml", "deploy/grafana/remote-pin.json",
        ]
    )
    func files(path: String) throws {
        let names = Self.names(in: try Self.text(path))
        let known = Set(MetricCatalogue.all.map(\.name))
        #expect(names.count >= 10)
        #expect(names.subtracting(known).isEmpty, "\(names.subtracting(known).sorted())")
    }

    @Test("every label selector in the alerts and the dashboard matches the catalog")
    func selectors() throws {
        let texts = try ["deploy/prometheus/alerts.yml", "deploy/grafana/remote-pin.json"].map { try Self.text($0) }
        let text = texts.joined().replacingOccurrences(of: "\\\"", with: "\"")
        var checked = 0
        for match in text.matches(of: /(remote_pin_[a-z_]+)\{([^}]*)\}/) {
            let metric = MetricCatalogue.all.first { match.1 == $0.name || match.1.hasPrefix($0.name + "_") }
            for selector in match.2.matches(of: /([a-z]+)(!?=)"([a-z_]+)"/) where selector.1 != "instance" {
                let label = try #require(metric?.labels.first { $0.name == selector.1 }, "\(match.0)")
                guard case .listed(let values) = label.values else { continue }
                #expect(values.contains(String(selector.3)), "\(match.0)")
                checked += 1
            }
        }
        #expect(checked >= 8)
    }

    @Test("the dashboard is valid JSON, shows every metric and describes each panel")
    func dashboard() throws {
        struct Dashboard: Decodable {
            struct Panel: Decodable {
                struct Target: Decodable { let expr: String }
                let id: Int
                let title: String
                let type: String
                let description: String?
                let targets: [Target]?
            }
            let panels: [Panel]
        }
        let text = try Self.text("deploy/grafana/remote-pin.json")
        let dashboard = try JSONDecoder().decode(Dashboard.self, from: Data(text.utf8))
        #expect(Set(dashboard.panels.map(\.id)).count == dashboard.panels.count)
        for panel in dashboard.panels where panel.type != "row" {
            #expect(panel.description?.isEmpty == false && panel.targets?.isEmpty == false, "\(panel.title)")
        }
        let shown = Self.names(in: dashboard.panels.flatMap { $0.targets ?? [] }.map(\.expr).joined(separator: "\n"))
        // Disagreement between catalog and program raises an alert and needs no panel.
        let missing = Set(MetricCatalogue.all.map(\.name)).subtracting(shown)
        #expect(missing == ["remote_pin_metrics_refused_total"], "\(missing.sorted())")
    }

    @Test(
        "alerts.yml, its tests, docs/observation.md and docs/operating.md name the same alerts"
    )
    func alerts() throws {
        func names(_ path: String, _ pattern: Regex<(Substring, Substring)>) throws -> [String] {
            try Self.text(path).matches(of: pattern).map { String($0.1) }
        }
        let alerts = try names("deploy/prometheus/alerts.yml", /- alert: (\w+)/)
        #expect(alerts.count >= 15 && Set(alerts).count == alerts.count)
        #expect(try Set(names("docs/observation.md", /### (RemotePIN\w+)/)) == Set(alerts))
        let listed = try names("docs/operating.md", /\[(\w+)\]\(observation\.md#remotepin/).map { "RemotePIN\($0)" }
        #expect(Set(listed) == Set(alerts))
        #expect(try Set(names("deploy/prometheus/alerts-test.yml", /alertname: (\w+)/)) == Set(alerts))
    }
}

@Suite("promtool checks")
struct PromtoolTests {
    private static let promtool = "/usr/bin/promtool"

    /// Runs promtool, or fails with the package to install.
    private static func run(_ arguments: String...) async throws -> ProgramRun {
        try #require(
            DurableFile.exists(Self.promtool),
            "promtool is missing: install the Debian package `prometheus` (make packages-test does)"
        )
        return try await ServerProcess.run(Self.promtool, arguments)
    }

    private static func path(_ path: String, file: String = #filePath) -> String {
        URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent(path).path
    }

    @Test("the alert rules are valid and each fires only under its condition")
    func alerts() async throws {
        let rules = try await Self.run("check", "rules", Self.path("deploy/prometheus/alerts.yml"))
        #expect(rules.exitCode == 0, "\(rules.output)")
        let tests = try await Self.run("test", "rules", Self.path("deploy/prometheus/alerts-test.yml"))
        #expect(tests.exitCode == 0, "\(tests.output)")
    }

    @Test("every query of the dashboard is valid")
    func dashboard() async throws {
        let folder = TemporaryFolder()
        let text = try String(contentsOfFile: Self.path("deploy/grafana/remote-pin.json"), encoding: .utf8)
        let queries = text.matches(of: /"expr": (".*"),/).map(\.1)
        try #require(queries.count >= 20)
        var rules = "groups:\n- name: dashboard\n  rules:\n"
        for (number, query) in queries.enumerated() {
            let query = query.replacingOccurrences(of: "$__rate_interval", with: "5m")
            rules += "  - record: panel:query\(number)\n    expr: \(query)\n"
        }
        let run = try await Self.run("check", "rules", try folder.write(rules, to: "rules.yml"))
        #expect(run.exitCode == 0, "\(run.output)")
        let broken = rules.replacingOccurrences(of: "sum by (call)", with: "sum by call)")
        #expect(try await Self.run("check", "rules", try folder.write(broken, to: "broken.yml")).exitCode != 0)
    }
}
