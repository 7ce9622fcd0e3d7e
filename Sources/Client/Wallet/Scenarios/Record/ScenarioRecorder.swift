internal import ConfigText
internal import DeviceInterface
internal import HostSystem
package import Phone
internal import SimulatedPhone
internal import Synchronization
internal import Vocabulary
package import WalletCore
internal import WalletFlows

/// Records a scenario while a person or program uses a new phone in a lab, with an expectation after each action.
///
/// Elapsed time is recorded as an `advance` step: before an action if at least ten seconds have passed, and when the
/// screen changes on its own. The file is a complete scenario after every step.
package final class ScenarioRecorder: Sendable {
    private struct State {
        var text = ""
        var pins = TestPINs()
        /// The profile after the last action, without the conditions that have already happened.
        var profile: DeviceProfile?
        /// The point in time reached by the recorded steps.
        var time: Timestamp
        var isActing = false
        var step = ""
        var failure: FileError?
    }

    private let path: String
    private let clock: any WallClock
    private let settings: WalletSettings
    private let server: [(name: String, value: String)]
    private let state: Mutex<State>

    /// The longest pause that is not recorded if the screen has not changed.
    private static let longestPause: Int64 = 10_000

    /// Creates a recorder.
    ///
    /// - Parameters:
    ///   - path: The file to write. It must not exist.
    ///   - settings: The phone's settings, which must point to a lab.
    ///   - lab: The lab's folder.
    package init(_ path: String, _ settings: WalletSettings, lab: String) throws {
        self.path = path
        self.settings = settings
        self.clock = try settings.clock()
        self.server = try RecordedServer.settings(lab: lab)
        self.state = Mutex(State(time: self.clock.now()))
        try DurableFile.create([], at: path, mode: 0o644)
    }

    /// Observes the phone's actions for the recorder.
    package var actions: ActionObserver {
        ActionObserver(begin: { self.begin($0) }, end: { self.end($0, $1, $2) })
    }

    /// Records a screen that appears on its own, for example when a block ends.
    package func note(_ event: WalletEvent) {
        guard case .screen(let screen, _) = event else { return }
        self.state.withLock { state in
            guard !state.isActing, state.profile != nil, screen.step != state.step else { return }
            self.advance(&state, atLeast: 0)
            state.text += "  - expect: {\(Self.expectation(of: screen))}\n"
            state.step = screen.step
            self.write(&state)
        }
    }

    /// Throws the error if the file could not be written.
    package func finish() throws {
        if let failure = self.state.withLock(\.failure) { throw failure }
    }

    private func begin(_ profile: DeviceProfile) {
        self.state.withLock { state in
            state.isActing = true
            if let last = state.profile {
                self.advance(&state, atLeast: Self.longestPause)
                let changes = profile.changes(from: last)
                if !changes.isEmpty { state.text += "  - device: \(RecordedText.fields(changes))\n" }
            } else {
                state.text = self.head(profile)
                state.time = self.clock.now()
            }
            state.profile = profile
        }
    }

    private func end(_ action: PhoneAction, _ result: PhoneState?, _ profile: DeviceProfile) {
        self.state.withLock { state in
            state.isActing = false
            state.profile = profile
            guard let result else { return }
            state.step = result.screen.step
            let step = Self.step(action, &state.pins)
            state.text += "  - \(step)\n"
            state.text += "  - expect: {\(Self.expectation(of: result))}\n"
            self.write(&state)
        }
    }

    /// Records the time that has passed since the last step, rounded up to whole seconds so that all timers have fired.
    private func advance(_ state: inout State, atLeast limit: Int64) {
        let passed = (self.clock.now() - state.time).milliseconds
        guard passed > 0, passed >= limit else { return }
        let seconds = (passed + 999) / 1000
        state.text += "  - advance: \(seconds)s\n"
        state.time = state.time + .seconds(seconds)
    }

    private func write(_ state: inout State) {
        do throws(FileError) {
            try OutputFile.write(Array(state.text.utf8), to: self.path)
        } catch {
            state.failure = error
        }
    }

    private func head(_ profile: DeviceProfile) -> String {
        let file = self.path.split(separator: "/").last.map(String.init) ?? ""
        let name = String(file.prefix { $0 != "." }.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" })
        var lines = [
            "# Recorded: typed PINs are replaced by test PINs, and the acts of operators are missing.",
            "case: \(name.isEmpty ? "recorded" : name)", "title: A recorded scenario",
        ]
        if !self.server.isEmpty {
            lines.append("server: {\(self.server.map { "\($0.name): \($0.value)" }.joined(separator: ", "))}")
        }
        var profile = profile
        // Prompts that a sensor would match are answered by the person or program instead.
        if profile.sensor == .match { profile.sensor = .ask }
        var device = [("platform", ConfigValue.word(profile.platform.rawValue))]
        device += profile.changes(from: DeviceProfile(profile.platform)).filter { $0.0 != "platform" }
        lines.append("device: \(RecordedText.fields(device))")
        let wallet = self.settings.recorded
        if !wallet.isEmpty { lines.append("wallet: \(RecordedText.fields(wallet))") }
        return (lines + ["steps:"]).joined(separator: "\n") + "\n"
    }

    private static func step(_ action: PhoneAction, _ pins: inout TestPINs) -> String {
        switch action {
        case .launch(let link): "launch\(link.map { ": \(Self.text($0))" } ?? "")"
        case .resume(let link): "resume\(link.map { ": \(Self.text($0))" } ?? "")"
        case .open(let link): "link: \(Self.text(link))"
        case .background: "background"
        case .endProcess: "kill app"
        case .tap(let action): "tap: \(action.rawValue)"
        case .enter(let input): "enter: \(JSONText.quoted(pins.text(for: input)))"
        case .present(let presentation): "biometric: \(presentation.rawValue)"
        case .hostSession(let session): "host session: \(session?.rawValue ?? "none")"
        }
    }

    private static func text(_ link: IncomingLink) -> String {
        RecordedText.fields([("url", .word(link.url)), ("from", .word(link.source.rawValue))])
    }

    private static func expectation(of state: PhoneState) -> String {
        guard state.isRunning else { return "running: false" }
        var parts = state.isInFront ? [Self.expectation(of: state.screen)] : ["in_front: false"]
        parts.append("locked: \(state.isLocked)")
        let status = WalletExitStatus(state.obstacle)
        if state.isInFront, status != .done { parts.append("exit: \(status.rawValue)") }
        return parts.joined(separator: ", ")
    }

    /// The values that are the same in every run, such as the remaining attempts.
    private static let values: Set = ["attemptsLeft", "finalRound", "rule", "cause"]

    private static func expectation(of screen: Screen) -> String {
        var parts = [
            "screen: \(screen.step)", "kind: \(screen.kind.rawValue)", "title: \(JSONText.quoted(screen.title))",
        ]
        if !screen.actions.isEmpty {
            parts.append("actions: [\(screen.actions.map(\.id.rawValue).joined(separator: ", "))]")
        }
        let values = screen.values.filter { Self.values.contains($0.key) }.sorted { $0.key < $1.key }
        if !values.isEmpty {
            parts.append("values: \(RecordedText.fields(values.map { ($0.key, .word($0.value.text)) }))")
        }
        return parts.joined(separator: ", ")
    }
}
