internal import ArgumentParser
internal import Foundation
internal import Glibc
internal import HostSystem
internal import LoadEngine
internal import Synchronization

/// The state of a running command, in parts.
///
/// A terminal shows one part per line, whereas a log shows all parts on one line.
struct ProgressText: Sendable {
    let parts: [String]
    /// Parts that are highlighted on a terminal.
    let problems: [String]

    /// Creates the text.
    ///
    /// Empty parts are omitted.
    init(_ parts: [String], problems: [String] = []) {
        self.parts = parts.filter { !$0.isEmpty }
        self.problems = problems.filter { !$0.isEmpty }
    }
}

/// The display of a running command on standard error.
///
/// On a terminal, the display redraws a block of lines in place. Otherwise, it prints a line for each state.
final class ProgressDisplay: Sendable {
    private struct State {
        /// The number of lines on the terminal that the next block replaces.
        var drawnLines = 0
        var isStopping = false
        var isEnded = false
    }

    /// The running command, and the function that asks it to stop.
    private struct Running {
        let display: ProgressDisplay
        let stop: @Sendable () -> Void
    }

    /// Nil if no command runs, for example while its result is written.
    private static let running = Mutex<Running?>(nil)
    private static let signals: Void = ProcessEnd.onSignals([SIGINT, SIGTERM]) { _ in
        guard let running = ProgressDisplay.running.withLock(\.self), !running.display.isStopping else {
            ProcessEnd.atOnce(status: PinLoadStatus.interrupted.rawValue)
        }
        running.display.announceStop()
        running.stop()
    }

    private let isBlock: Bool
    private let hasColor: Bool
    private let state = Mutex(State())

    /// - Parameter wantsLines: Whether to print lines even on a terminal.
    init(wantsLines: Bool = false) {
        let environment = ProcessInfo.processInfo.environment
        self.isBlock = Terminal.isTerminal(2) && !wantsLines && environment["TERM"] ?? "dumb" != "dumb"
        self.hasColor = environment["NO_COLOR"] == nil
    }

    /// Whether a signal has asked the command to stop.
    var isStopping: Bool { self.state.withLock(\.isStopping) }

    /// Shows the new state.
    func show(_ text: ProgressText) {
        self.state.withLock { state in
            guard !state.isEnded else { return }
            guard self.isBlock else {
                StandardStreams.writeError((text.parts + text.problems).joined(separator: "  ") + "\n")
                return
            }
            let width = max(1, (Terminal.columns(of: 2) ?? 80) - 1)
            let lines =
                text.parts.map { "\($0.prefix(width))\u{1B}[K\n" }
                + text.problems.map { "\u{1B}[\(self.hasColor ? "1;31" : "1")m\($0.prefix(width))\u{1B}[0m\u{1B}[K\n" }
            let home = state.drawnLines > 0 ? "\u{1B}[\(state.drawnLines)A\r" : "\r"
            StandardStreams.writeError(home + lines.joined() + "\u{1B}[J")
            state.drawnLines = lines.count
        }
    }

    /// Refreshes the display twice per second on a terminal.
    ///
    /// Otherwise, it prints a line after one second, then every five seconds.
    private func follow(_ text: @Sendable () -> ProgressText) async {
        var pause: Duration = self.isBlock ? .milliseconds(500) : .seconds(1)
        while true {
            try? await Task.sleep(for: pause)
            if Task.isCancelled { return }
            self.show(text())
            if !self.isBlock { pause = .seconds(5) }
        }
    }

    /// Runs `body` and shows its state.
    ///
    /// The first SIGINT or SIGTERM calls `stop`, after which `body` should return. The second one, or one after `body`,
    /// ends the process.
    ///
    /// - Parameter text: The state to show at regular intervals, or nil if `body` itself calls ``show(_:)``.
    func run<Value, Failure: Error>(
        following text: (@Sendable () -> ProgressText)? = nil,
        stop: @escaping @Sendable () -> Void,
        _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        Self.running.withLock { $0 = Running(display: self, stop: stop) }
        Self.signals
        let following = text.map { text in Task { await self.follow(text) } }
        defer {
            Self.running.withLock { $0 = nil }
            following?.cancel()
            self.end()
        }
        return try await body()
    }

    private func announceStop() {
        self.state.withLock { state in
            state.isStopping = true
            // Leave this line in place and draw the next block below it.
            state.drawnLines = 0
            StandardStreams.writeError("stopping after the operations in flight; Ctrl-C again exits at once\n")
        }
    }

    private func end() { self.state.withLock { $0.isEnded = true } }
}

extension Duration {
    /// The duration in clock format, for example `0:09`, `12:34` or `1:02:03`.
    var clockText: String {
        let seconds = Int((self / .seconds(1)).rounded())
        func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let minutes = "\(seconds / 60 % 60):\(twoDigits(seconds % 60))"
        guard seconds >= 3600 else { return minutes }
        return "\(seconds / 3600):\(twoDigits(seconds / 60 % 60)):\(twoDigits(seconds % 60))"
    }
}

extension ProgressText {
    init(_ moment: RunSnapshot, of plan: LoadPlan) {
        let (interval, totals, gauges) = (moment.interval, moment.totals, moment.interval.gauges)
        let now = interval.totals
        let left = max(.zero, moment.duration - interval.end).clockText
        let part: String? = interval.isWarmup ? "warm-up" : interval.isTail ? "tail" : interval.stage
        let stage = part.map { ", \($0)" } ?? ""
        let waiting = plan.isOpen ? "\(NumberText.count(moment.waiting)) waiting  " : ""
        let inFlight = "\(waiting)\(NumberText.count(gauges.inFlight)) in flight"
        let planned = interval.isTail ? "" : gauges.plannedRate.map { " of \(NumberText.rate($0)) planned" } ?? ""
        let average = totals.rate.map { ", \(NumberText.rate($0)) on average" } ?? ""
        let counts = [
            ("VIOLATIONS", totals.violations.count), ("unexpected", totals.figures().unexpected),
            ("unsent", totals.unsent),
        ]
        self.init(
            [
                "\(interval.end.clockText) of \(moment.duration.clockText), \(left) left\(stage)",
                "\(NumberText.rate(now.rate ?? 0))\(planned)\(average)",
                "\(NumberText.count(gauges.connections)) connections  \(inFlight)",
                now.latencyText, totals.verdictsText, Self.processes(interval),
            ],
            problems: [totals.errorsText] + counts.filter { $0.1 > 0 }.map { "\($0) \(NumberText.count($1))" }
                + moment.failing.map { "failing \($0)" }
        )
    }

    /// CPU and memory usage, if known.
    private static func processes(_ interval: Interval) -> String {
        let (gauges, totals) = (interval.gauges, interval.totals)
        let seconds = max(1e-9, (interval.end - interval.start) / .seconds(1))
        func percent(_ cpu: Double) -> String { "\(Int((cpu / seconds * 100).rounded()))%" }
        let parts = [
            gauges.serverCPUSeconds.map { "server CPU \(percent($0))" },
            totals.serverCPUMicrosecondsPerOperation.map { "\(NumberText.time(microseconds: $0)) per operation" },
            gauges.serverResidentBytes.map { NumberText.bytes(Double($0)) },
            gauges.toolCPUSeconds.map { "pin-load CPU \(percent($0))" },
        ]
        return parts.compactMap(\.self).joined(separator: "  ")
    }

    init(_ progress: BurstAttack.Progress) {
        let (statistics, totals) = (progress.statistics, progress.totals)
        let violations = totals.violations.count
        self.init(
            [
                "\(progress.bursts) of \(progress.of) bursts, \(progress.left.clockText) left",
                "right guess accepted \(NumberText.percent(statistics.share)), "
                    + "allowed \(NumberText.percent(statistics.bound))",
                totals.latencyText, totals.verdictsText,
            ],
            problems: [totals.errorsText, violations > 0 ? "VIOLATIONS \(NumberText.count(violations))" : ""]
        )
    }
}

extension Totals {
    fileprivate var latencyText: String {
        let times = self.figures().latency
        return "p50 \(NumberText.time(times.percentile(50)))  p99 \(NumberText.time(times.percentile(99)))  "
            + "max \(NumberText.time(times.max))"
    }

    /// The verdicts, for example `valid 4,330  wrong 482`.
    fileprivate var verdictsText: String {
        let outcomes = self.figures().outcomes.filter { !$0.key.isFailure }.sorted { $0.key < $1.key }
        return outcomes.map { "\($0.key.rawValue) \(NumberText.count($0.value))" }.joined(separator: "  ")
    }

    /// The errors with up to three reasons, for example `errors 12 (connect:refused 10, timeout 2)`.
    ///
    /// Empty if there are none.
    fileprivate var errorsText: String {
        let failures = self.figures().outcomes.filter(\.key.isFailure)
        let count = failures.values.reduce(0, +)
        guard count > 0 else { return "" }
        let reasons = failures.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(3).map { outcome, count in
            "\(outcome.rawValue.dropFirst("failed:".count)) \(NumberText.count(count))"
        }
        return
            "errors \(NumberText.count(count)) (\(reasons.joined(separator: ", "))\(failures.count > 3 ? ", …" : ""))"
    }
}
