internal import HostSystem
internal import LoadFleet
internal import Synchronization

/// Says on standard error how far a provisioning is: on a terminal one line that changes, elsewhere a line now and then.
final class ProvisionDisplay: Sendable {
    private struct State {
        var meter = RateMeter()
        var isStopped = false
        /// When the last line was written, where each stays.
        var lastLine: Duration = .seconds(1) - ProvisionDisplay.pause
    }

    private let provisioning: FleetProvisioner
    private let address: String
    private let isTerminal = Terminal.isTerminal(2)
    private let state = Mutex(State())

    /// Between two lines, where each stays.
    private static let pause: Duration = .seconds(5)

    init(_ provisioning: FleetProvisioner, address: String) {
        self.provisioning = provisioning
        self.address = address
    }

    func begin() {
        let progress = self.provisioning.progress
        self.state.withLock { $0.meter.note(0, at: .zero) }
        guard progress.left > 0 else { return }
        let what = progress.before == 0 ? "" : "; \(progress.before.grouped) are there already"
        StandardStreams.writeError("registering \(progress.left.grouped) wallets at \(self.address)\(what)\n")
    }

    /// Someone asked to stop.
    func stop() {
        self.state.withLock { $0.isStopped = true }
        self.clear()
        StandardStreams.writeError("stopping: what is under way is finished (again: ends at once)\n")
    }

    var isStopped: Bool { self.state.withLock(\.isStopped) }

    /// Writes until the task is cancelled.
    func tick() async {
        while true {
            try? await Task.sleep(for: .milliseconds(self.isTerminal ? 500 : 1000))
            if Task.isCancelled { return }
            self.draw()
        }
    }

    private func draw() {
        let progress = self.provisioning.progress
        let line: String? = self.state.withLock { state in
            state.meter.note(progress.registered, at: progress.elapsed)
            if !self.isTerminal {
                guard progress.elapsed - state.lastLine >= Self.pause else { return nil }
                state.lastLine = progress.elapsed
            }
            return Self.line(progress, state.meter)
        }
        guard let line else { return }
        if self.isTerminal {
            let columns = Terminal.columns(of: 2) ?? 80
            StandardStreams.writeError("\r\u{1B}[K" + line.prefix(columns - 1))
        } else {
            StandardStreams.writeError(line + "\n")
        }
    }

    /// The line of progress goes.
    func end() { self.clear() }

    private func clear() {
        if self.isTerminal { StandardStreams.writeError("\r\u{1B}[K") }
    }

    static func line(_ progress: ProvisioningProgress, _ meter: RateMeter) -> String {
        let percent = Int(100 * Double(progress.held) / Double(max(1, progress.total)))
        var line = "\(progress.held.grouped) of \(progress.total.grouped) wallets (\(percent) %)"
        line += "  \(Int(meter.perSecond.rounded()).grouped)/s"
        if let left = meter.time(for: progress.left) { line += "  \(left.clock) left" }
        if let trouble = progress.trouble { line += "  waiting: \(trouble)" }
        return line
    }

    /// What the file holds, in words.
    var held: String {
        let progress = self.provisioning.progress
        return "\(progress.held.grouped) of \(progress.total.grouped) wallets are in the file."
    }

    /// The last words.
    func summary(path: String, wasInterrupted: Bool) -> String {
        let progress = self.provisioning.progress
        var text = "\(path): \(self.held)"
        if progress.registered > 0 {
            let rate = Double(progress.registered) / max(0.001, progress.elapsed / .seconds(1))
            text += " \(progress.registered.grouped) registered now"
            text += " (\(progress.android.grouped) Android, \(progress.iOS.grouped) iOS)"
            text += " in \(progress.elapsed.clock), \(Int(rate.rounded()).grouped)/s"
            if progress.repeated > 0 { text += "; \(progress.repeated.grouped) sent again, for want of an answer" }
            text += "."
        }
        if wasInterrupted { text += "\nInterrupted; the same command goes on from here." }
        return text + "\n"
    }
}

extension Int {
    /// With a comma before each three digits.
    var grouped: String {
        var text = ""
        for (place, digit) in String(self.magnitude).reversed().enumerated() {
            if place > 0, place.isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return (self < 0 ? "-" : "") + String(text.reversed())
    }
}

extension Duration {
    /// As on a clock for waiting: `8 s`, `2:05 min`, `1:02:05 h`.
    var clock: String {
        let seconds = Int(self / .seconds(1))
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        if seconds < 60 { return "\(seconds) s" }
        if seconds < 3600 { return "\(seconds / 60):\(two(seconds % 60)) min" }
        return "\(seconds / 3600):\(two(seconds / 60 % 60)):\(two(seconds % 60)) h"
    }
}
