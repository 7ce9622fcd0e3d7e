import ArgumentParser
internal import HostSystem
internal import SimulatedPhone
internal import Synchronization
internal import WalletCore
internal import WalletFlows

/// Prints command output: the last screen as text, or all events as JSON lines.
final class Printer: Sendable {
    private struct State {
        var isFirst = true
        var isLost = false
        var last: Screen?
        var hasConfirmed = false
    }

    private let isJSON: Bool
    private let showsSteps: Bool
    private let ink: Ink
    private let state = Mutex(State())

    init(isJSON: Bool, showsSteps: Bool) {
        self.isJSON = isJSON
        self.showsSteps = showsSteps
        self.ink = Ink(isOn: Terminal.isTerminal(1) && !Environment.has("NO_COLOR"))
    }

    /// Whether the user has confirmed an action of the host application.
    var hasConfirmed: Bool { self.state.withLock(\.hasConfirmed) }

    func print(_ event: WalletEvent) {
        if case .event(.confirmed) = event { self.state.withLock { $0.hasConfirmed = true } }
        if self.isJSON {
            for line in OutputLine.lines(event) { self.write(line) }
            return
        }
        switch event {
        case .step(let step):
            if self.showsSteps { StandardStreams.writeOutput(self.ink.dim(step.description) + "\n") }
        case .screen(let screen, _):
            let passed = self.state.withLock { state in
                defer { state.last = screen }
                return state.last
            }
            // The deletion code is printed even if the command continues past its screen.
            if let passed, passed.values["deletionCode"] != nil { self.draw(passed) }
        case .event(.confirmed(let confirmation)):
            StandardStreams.writeOutput(self.ink.highlight("confirmed: \(confirmation.title)") + "\n")
        case .event(.declined(let confirmation)):
            StandardStreams.writeOutput(self.ink.highlight("declined: \(confirmation.title)") + "\n")
        case .event, .locked: return
        }
    }

    /// Prints an event from the command itself; has no effect in text mode.
    func printEvent(_ name: String, _ values: [String: Screen.Value] = [:]) {
        if self.isJSON { self.write(.event(name, values)) }
    }

    /// Prints names and values; has no effect in JSON mode.
    func printRows(_ rows: [(String, String)]) {
        guard !self.isJSON else { return }
        let width = rows.map(\.0.count).max() ?? 0
        for (name, value) in rows {
            let padding = String(repeating: " ", count: width - name.count)
            StandardStreams.writeOutput("\(self.ink.dim(name + ":"))\(padding) \(value)\n")
        }
    }

    /// Prints the outcome of a command that ended on a screen.
    func finish(_ status: WalletExitStatus) {
        if self.isJSON {
            self.write(.result(status))
        } else if let screen = self.state.withLock(\.last) {
            self.draw(screen)
        }
    }

    /// Prints an error from a command.
    func fail(_ failure: WalletCommandFailure) {
        let message = PINArgument.masked(failure.message)
        if self.isJSON {
            let id = failure.status.outcome
            self.write(.error(id: id, correlationID: nil, cause: nil, retry: false, message: message))
            self.write(.result(failure.status))
        } else {
            StandardStreams.writeError("wallet: \(message)\n")
        }
    }

    /// Whether a line of JSON output was not written, for example because nothing reads it.
    var isLost: Bool { self.state.withLock(\.isLost) }

    /// Writes a line of JSON output.
    ///
    /// The lock ensures that the line with the version comes first.
    func write(_ line: OutputLine) {
        self.state.withLock { state in
            if !StandardStreams.writeOutput(line.json(isFirst: state.isFirst) + "\n") { state.isLost = true }
            state.isFirst = false
        }
    }

    private func draw(_ screen: Screen) {
        var text = self.ink.bold(screen.title) + "\n"
        if !screen.message.isEmpty { text += screen.message + "\n" }
        for name in ["banner", "notice"] {
            if case .text(let line) = screen.values[name] { text += self.ink.highlight(line) + "\n" }
        }
        if case .text(let code) = screen.values["deletionCode"] { text += "\n    \(self.ink.bold(code))\n\n" }
        for name in ["product", "version", "server", "cause"] {
            if case .text(let value) = screen.values[name] { text += "\(name): \(value)\n" }
        }
        let actions = screen.actions.map { "[\($0.title)]" }
        if !actions.isEmpty { text += self.ink.dim(actions.joined(separator: " ")) + "\n" }
        StandardStreams.writeOutput(text)
    }
}

/// ANSI text styles, if the terminal supports them.
struct Ink {
    let isOn: Bool

    func bold(_ text: String) -> String { self.paint(text, "1") }
    func dim(_ text: String) -> String { self.paint(text, "2") }
    func highlight(_ text: String) -> String { self.paint(text, "33") }

    private func paint(_ text: String, _ code: String) -> String {
        self.isOn ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}

/// An error that ends a command, with a message for the user and an exit status.
struct WalletCommandFailure: Error {
    var status: WalletExitStatus
    var message: String

    init(status: WalletExitStatus, message: String) {
        self.status = status
        self.message = message
    }

    /// Converts an error thrown by a command.
    init(_ error: any Error) {
        if let failure = error as? WalletCommandFailure {
            self = failure
        } else {
            let error = PhoneError(error)
            self.init(status: error.exitStatus, message: error.description)
        }
    }

    static func usage(_ message: String) -> WalletCommandFailure {
        WalletCommandFailure(status: .usage, message: message)
    }
}

extension WalletExitStatus {
    var exitCode: ExitCode { ExitCode(self.rawValue) }
}
