internal import HostSystem
internal import Mustache
internal import SimulatedPhone
internal import WalletFlows

/// Renders a run as self-contained HTML pages without scripts or network access: an overview and a page per scenario.
package struct HTMLReport: Sendable {
    private let report: Report
    /// The file names of the scenarios' pages.
    private let names: [String]

    package init(_ report: Report) {
        self.report = report
        self.names = report.results.enumerated().map { index, result in
            let number = result.repetition.map { "-\($0)" } ?? ""
            return "\(index + 1)-\(result.caseID)\(number).html"
        }
    }

    /// The names and contents of all pages, starting with `index.html`.
    package var pages: [(name: String, html: String)] {
        let list = ListValues(self.report, self.names)
        let index = (name: "index.html", html: Self.templates.render(list, withTemplate: "list") ?? "")
        let scenarios = self.report.results.enumerated().map { index, result in
            let values = ScenarioValues(
                result,
                before: index > 0 ? self.names[index - 1] : nil,
                after: index + 1 < self.names.count ? self.names[index + 1] : nil
            )
            return (name: self.names[index], html: Self.templates.render(values, withTemplate: "scenario") ?? "")
        }
        return [index] + scenarios
    }

    /// Blocks scripts and requests in case text from a scenario or the server gets past the template's escaping.
    static let policy = [
        "script-src", "connect-src", "img-src", "font-src", "media-src", "object-src", "frame-src", "form-action",
        "base-uri",
    ].map { "\($0) 'none'" }.joined(separator: "; ")

    /// The templates of the pages and their parts, by the name used to include them; they escape every value.
    private static let templates: MustacheLibrary = {
        let files = [
            "list": PackageResources.list_mustache, "scenario": PackageResources.scenario_mustache,
            "head": PackageResources.head_mustache, "differences": PackageResources.differences_mustache,
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
}

/// The values for the overview.
///
/// The template looks them up by name.
private struct ListValues {
    let policy = HTMLReport.policy
    let runVerdict: String
    let summary: String
    let rows: [Row]
    let coverage: String
    let flows: [FlowRow]

    struct Row {
        let address: String
        let verdict: String
        let name: String
        let steps: String
        let time: String
    }

    struct FlowRow {
        let flow: String
        let reached: String
        let isMissing: Bool
        let missing: String
    }

    init(_ report: Report, _ names: [String]) {
        self.runVerdict = report.isSuccess ? "passed" : "failed"
        let counts = [ScenarioResult.Verdict.passed, .flaky, .failed, .skipped, .knownFailure].compactMap { verdict in
            let count = report.count(verdict)
            return count > 0 ? "\(count) \(verdict.rawValue)" : nil
        }
        self.summary = "\(counts.joined(separator: ", ")) in \(report.duration.secondsText) s"
        // Failures first, each group in the order of the run: the list may be long.
        let results = Array(zip(report.results, names))
        let groups = [ScenarioResult.Verdict.failed, .flaky].map { group in results.filter { $0.0.verdict == group } }
        let others = results.filter { $0.0.verdict != .failed && $0.0.verdict != .flaky }
        self.rows = (groups + [others]).joined().map { result, name in
            Row(
                address: name,
                verdict: result.verdict.rawValue,
                name: result.name,
                steps: "\(result.stepsDone) of \(result.stepsInAll)",
                time: "\(result.duration.secondsText) s"
            )
        }
        let reached = report.results.reduce(into: Set<String>()) { $0.formUnion($1.reached) }
        var flows: [(name: String, steps: [String])] = []
        for step in StepID.documented.map(\.description) {
            let flow = String(step.prefix { $0 != "/" })
            if flows.last?.name == flow {
                flows[flows.count - 1].steps.append(step)
            } else {
                flows.append((flow, [step]))
            }
        }
        let known = StepID.documented.count { reached.contains($0.description) }
        self.coverage = "\(known) of \(StepID.documented.count) steps of the flows reached"
        self.flows = flows.map { name, steps in
            let missing = steps.filter { !reached.contains($0) }.map { String($0.dropFirst(name.count + 1)) }
            return FlowRow(
                flow: name,
                reached: "\(steps.count - missing.count) of \(steps.count)",
                isMissing: !missing.isEmpty,
                missing: missing.isEmpty ? "none" : missing.joined(separator: " ")
            )
        }
    }
}

/// The values for a scenario page.
///
/// The template looks them up by name.
private struct ScenarioValues {
    let policy = HTMLReport.policy
    let verdict: String
    let name: String
    let caseName: String
    let title: String
    let about: String
    let before: String?
    let after: String?
    let notes: [Note]
    let steps: [StepValues]

    struct Note {
        let heading: String
        let note: String
        let target: String?
        let differenceRows: DifferenceRows?
    }

    init(_ result: ScenarioResult, before: String?, after: String?) {
        self.verdict = result.verdict.rawValue
        self.name = result.name
        self.caseName = result.repetition.map { "\(result.caseID) (\($0))" } ?? result.caseID
        self.title = result.title
        self.about =
            "\(result.path) · \(result.stepsDone) of \(result.stepsInAll) steps · \(result.duration.secondsText) s"
        (self.before, self.after) = (before, after)
        var notes = result.earlierFailures.enumerated().map { index, failure in
            Note(
                heading: "Attempt \(index + 1) failed in line \(failure.line): \(failure.step)",
                note: failure.message,
                target: nil,
                differenceRows: DifferenceRows(failure.differences)
            )
        }
        switch result.outcome {
        case .passed: break
        case .skipped(let reason):
            notes.append(Note(heading: "Skipped", note: reason, target: nil, differenceRows: nil))
        case .knownFailure(let reason, let failure):
            let note = "\(reason) (\(failure.summary))"
            notes.append(Note(heading: "Known failure", note: note, target: nil, differenceRows: nil))
        case .failed(let failure):
            let index = result.steps.lastIndex { $0.outcome == .failed }
            notes.append(
                Note(
                    heading: "Failed in line \(failure.line): \(failure.step)",
                    note: failure.message,
                    target: index.map { "step-\($0 + 1)" },
                    // If there is a matching step, the differences are shown there instead.
                    differenceRows: index == nil ? DifferenceRows(failure.differences) : nil
                )
            )
        }
        self.notes = notes
        let hasPhones = Set(result.steps.map(\.phone)).count > 1
        var shown: [String: Picture] = [:]
        self.steps = result.steps.enumerated().map { index, step in
            let isChanged = shown[step.phone] != step.picture
            shown[step.phone] = step.picture
            return StepValues(step, number: index + 1, showsScreen: isChanged, namesPhone: hasPhones, result)
        }
    }
}

/// A step on a scenario page.
private struct StepValues {
    let number: Int
    let state: String
    let line: Int
    let text: String
    let time: String
    let onPhone: String?
    let problem: String?
    let differenceRows: DifferenceRows?
    let screen: ScreenValues?
    let trace: String?
    let log: LogValues?

    struct ScreenValues {
        let label: String
        let rows: [Row]

        struct Row {
            let runs: [Run]
        }

        struct Run {
            let style: String
            let words: String
        }
    }

    struct LogValues {
        let heading: String
        let isOpen: Bool
        let lines: String
    }

    /// The smallest terminal that fits every screen without changing its layout.
    ///
    /// It also fits on a phone.
    private static let renderer = Renderer(
        size: TerminalSize(columns: 44, rows: 20),
        palette: Palette(hasUnicode: true, hasColor: true, hasControl: true)
    )

    init(_ step: StepRecord, number: Int, showsScreen: Bool, namesPhone: Bool, _ result: ScenarioResult) {
        self.number = number
        self.line = step.line
        self.text = step.text
        self.time = "\(step.duration.secondsText) s"
        self.onPhone = namesPhone ? step.phone : nil
        let isFailed = step.outcome == .failed
        switch step.outcome {
        case .done: (self.state, self.problem) = ("done", nil)
        case .skipped(let reason): (self.state, self.problem) = ("skipped", reason)
        case .failed:
            self.state = "failed"
            self.problem = result.outcome.failure?.message
        }
        self.differenceRows = isFailed ? result.outcome.failure.flatMap { DifferenceRows($0.differences) } : nil
        self.screen = showsScreen || isFailed ? Self.screen(step.picture) : nil
        self.trace = step.trace.isEmpty ? nil : step.trace.joined(separator: " ")
        let count = step.log.count
        self.log =
            count == 0
            ? nil
            : LogValues(
                heading: "Server log: \(count) \(count == 1 ? "line" : "lines")",
                isOpen: isFailed,
                lines: step.log.joined(separator: "\n")
            )
    }

    private static func screen(_ picture: Picture) -> ScreenValues {
        let name = picture.place == .inFront ? "\(picture.screen.step) \(picture.screen.title)" : "\(picture.place)"
        return ScreenValues(
            label: "Screen \(name)",
            rows: Self.renderer.phoneRows(picture).map { runs in
                .init(runs: runs.map { .init(style: $0.style.rawValue, words: $0.text) })
            }
        )
    }
}

/// Expected and actual values, with the differing parts highlighted.
private struct DifferenceRows {
    let entries: [Entry]

    struct Entry {
        let what: String
        /// The expected text and the seen one.
        let texts: [Marked]
    }

    struct Marked {
        let head: String
        let middle: String?
        let tail: String
    }

    init?(_ differences: [ScenarioResult.Difference]) {
        guard !differences.isEmpty else { return nil }
        self.entries = differences.map { difference in
            let (expected, seen) = Self.marked(Array(difference.expected), Array(difference.seen))
            return Entry(what: difference.what, texts: [expected, seen])
        }
    }

    private static func marked(_ expected: [Character], _ seen: [Character]) -> (Marked, Marked) {
        let head = zip(expected, seen).prefix { $0 == $1 }.count
        let room = min(expected.count, seen.count) - head
        let tail = zip(expected.reversed(), seen.reversed()).prefix(room).prefix { $0 == $1 }.count
        func part(_ text: [Character]) -> Marked {
            let middle = String(text[head..<(text.count - tail)])
            return Marked(
                head: String(text[..<head]),
                middle: middle.isEmpty ? nil : middle,
                tail: String(text[(text.count - tail)...])
            )
        }
        return (part(expected), part(seen))
    }
}
