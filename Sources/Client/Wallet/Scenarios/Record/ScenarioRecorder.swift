internal import ConfigText
internal import WalletFlows
internal import HostSystem
internal import LabFiles
package import SimulatedPhone
internal import Synchronization
internal import Vocabulary
package import WalletCore
internal import Yams

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
        /// The events of the action in progress.
        var events: [AppEvent] = []
        var step = ""
        var failure: FileError?
    }

    private let path: String
    private let clock: any WallClock
    /// The configuration of the phone to record.
    package let settings: WalletSettings
    private let server: [(name: String, value: String)]
    private let state: Mutex<State>

    /// The longest pause that is not recorded if the screen has not changed.
    private static let longestPause: Int64 = 10_000

    /// Creates a recorder.
    ///
    /// - Parameters:
    ///   - path: The new file to write.
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

    /// The reason why an existing scenario cannot be continued.
    package struct NotContinued: Error, CustomStringConvertible {
        package let description: String
    }

    /// Creates a recorder that continues an existing scenario.
    ///
    /// Plays the scenario on a new phone, whose app it ends, so that what is recorded begins in the state at the
    /// scenario's end. The test PINs of the scenario are recorded as they are typed.
    ///
    /// - Parameters:
    ///   - path: The scenario.
    ///   - settings: The phone's settings, which must point to a lab. The scenario's own configuration is added.
    ///   - lab: The lab's folder.
    ///   - home: The home of the new phone.
    package init(continuing path: String, _ settings: WalletSettings, lab: String, on home: PhoneHome) async throws {
        let scenario = try Scenario(file: path)
        var text = try DurableFile.readText(path, atMost: 1 << 20)
        if !text.hasSuffix("\n") { text += "\n" }
        let step = "  - kill app\n"
        let longer = try? Scenario(yaml: text + step, path: path)
        guard longer?.steps.count == (try Scenario(yaml: text, path: path).steps.count + 1) else {
            throw NotContinued(description: "its steps must be the end of the file, each after two blanks and a dash")
        }
        guard scenario.tearDown.isEmpty else { throw NotContinued(description: "its folder has steps after it") }
        let usesFolder = scenario.steps.contains { step in
            switch step.action {
            case .phone, .clone, .backUp: true
            default: false
            }
        }
        guard !usesFolder else { throw NotContinued(description: "it copies the phone or uses another one") }
        let server = try RecordedServer.settings(lab: lab)
        for (name, value) in scenario.server where !server.contains(where: { $0.name == name && $0.value == value }) {
            throw NotContinued(description: "the lab's setting \(name) is not \(value)")
        }
        var settings = settings
        scenario.wallet.apply(to: &settings)
        let world = World(settings: settings, lab: try LabServer(existing: LabFolder(lab)))
        let deadline = ContinuousClock.now + scenario.timeLimit
        let run = try ScenarioRun(scenario, in: world, folder: home.path, until: deadline, onPhone: home)
        let outcome = await run.run()
        if await run.current.phone.isRunning { text += step }
        let profile = run.current.phone.device.profile
        await run.end()
        if let failure = outcome.failure { throw NotContinued(description: failure.summary) }
        guard outcome == .passed, run.skips.isEmpty else { throw NotContinued(description: outcome.summary) }
        self.path = path
        self.settings = settings
        self.clock = try settings.clock()
        self.server = server
        let pins = TestPINs(known: scenario.steps.flatMap(\.action.pins))
        self.state = Mutex(State(text: text, pins: pins, profile: profile, time: self.clock.now()))
    }

    /// Observes the phone's actions for the recorder.
    package var actions: ActionObserver {
        ActionObserver(begin: { self.begin($0) }, end: { self.end($0, $1, $2) })
    }

    /// Records an event, or a screen that appears on its own, for example when a block ends.
    package func note(_ event: WalletEvent) {
        self.state.withLock { state in
            switch event {
            case .screen(let screen, _):
                guard !state.isActing, state.profile != nil, screen.step != state.step else { return }
                self.advance(&state, atLeast: 0)
                state.text += "  - expect: {\(Self.expectation(of: screen))}\n"
                state.step = screen.step
            case .event(let event):
                state.events.append(event)
                guard !state.isActing, state.profile != nil else { return }
                self.advance(&state, atLeast: 0)
                Self.add(&state.events, to: &state.text)
            case .step, .locked: return
            }
            if !state.isActing { self.write(&state) }
        }
    }

    /// Adds a step for each event, and removes the events.
    private static func add(_ events: inout [AppEvent], to text: inout String) {
        for event in events {
            var fields = [("name", ConfigValue.word(event.name))]
            for (name, value) in event.values.sorted(by: { $0.key < $1.key }) {
                fields.append((name, .word(value.text)))
            }
            text += "  - event: \(fields.count == 1 ? event.name : RecordedText.fields(fields))\n"
        }
        events = []
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
            guard let result else { return state.events = [] }
            state.step = result.screen.step
            let step = Self.step(action, &state.pins)
            state.text += "  - \(step)\n"
            state.text += "  - expect: {\(Self.expectation(of: result))}\n"
            Self.add(&state.events, to: &state.text)
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
        case .confirm(let confirmation):
            "confirm: "
                + RecordedText.fields([
                    ("title", .word(confirmation.title)), ("details", .word(confirmation.details)),
                ])
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
            "screen: \(screen.step)", "kind: \(screen.kind.rawValue)", "title: \(RecordedText.quoted(screen.title))",
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

/// Formats the values in a recorded scenario as single-line YAML.
enum RecordedText {
    /// Returns the text in quotes, in which `${` does not begin a name.
    static func quoted(_ text: String) -> String { JSONText.quoted(text.replacing("${", with: "\(Step.dollar){")) }

    static func fields(_ fields: [(String, ConfigValue)]) -> String {
        "{\(fields.map { "\($0.0): \(Self.text($0.1))" }.joined(separator: ", "))}"
    }

    private static func text(_ value: ConfigValue) -> String {
        switch value.content {
        case .nothing: "~"
        case .word(let word): word.wholeMatch(of: /[A-Za-z0-9._-]+/) == nil ? Self.quoted(word) : word
        case .list(let list): "[\(list.map(Self.text).joined(separator: ", "))]"
        case .fields(let fields): Self.fields(fields.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        }
    }
}

/// The lab server's settings that can be written to a scenario.
enum RecordedServer {
    /// Reads the settings from the lab server's configuration file.
    ///
    /// Settings from the command line are not included.
    static func settings(lab: String) throws -> [(name: String, value: String)] {
        let file = try LabFile(of: LabFolder(lab)).server + "/server.yaml"
        let text = try DurableFile.readText(file, atMost: 1 << 20)
        let root = try Yams.compose(yaml: text)
        return ServerTable.settings.compactMap { field in
            let path = field.name.split(separator: ".").map(String.init)
            guard let value = root?[path[0]]?[path[1]], let text = Self.text(value) else { return nil }
            return (field.name, text)
        }
    }

    private static func text(_ node: Node) -> String? {
        if let sequence = node.sequence { return "[\(sequence.compactMap(Self.text).joined(separator: ", "))]" }
        return node.scalar?.string
    }
}

extension WalletSettings {
    /// Returns the value under its name in a scenario if it differs from the app's default.
    fileprivate func differing<Value: Equatable>(
        _ name: String,
        _ value: Value,
        _ standard: Value,
        _ text: (Value) -> String
    ) -> [(String, ConfigValue)] {
        value == standard ? [] : [(name, .word(text(value)))]
    }

    var recorded: [(String, ConfigValue)] {
        let (wording, times) = (Wording(), LockTimes())
        func duration(_ duration: Duration) -> String { "\(duration.milliseconds)ms" }
        return self.differing("language", self.wording.language, wording.language, \.rawValue)
            + self.differing("product", self.wording.product, wording.product) { $0 }
            + self.differing("link_base", self.linkBase, nil) { $0 ?? "" }
            + self.differing("lock_after_background", self.lockTimes.background, times.background, duration)
            + self.differing("lock_after_inactivity", self.lockTimes.inactivity, times.inactivity, duration)
            + self.differing("lock_warning_after", self.lockTimes.warning, times.warning, duration)
            + self.differing("pin_after_enrollment", self.pinAfterEnrollment, false) { "\($0)" }
            + self.differing("confirm_with_prompt", self.confirmsWithPrompt, false) { "\($0)" }
    }
}

/// Replaces the PINs a person types with test PINs.
///
/// The same PIN always gets the same replacement, which breaks the same PIN rule, if any.
///
/// A recording must never contain a PIN that the person also uses elsewhere. To recognize repeated PINs, the typed ones
/// are kept in memory while the recording is in progress. Recording is possible only with a lab.
struct TestPINs {
    private var known: [(entry: PINEntry, text: String)] = []

    /// - Parameter texts: Test PINs of an existing recording, which stand for themselves.
    init(known texts: [String] = []) {
        self.known = texts.compactMap { text in
            guard case .complete(let entry) = PINInput(typed: text.utf8) else { return nil }
            return (entry, text)
        }
    }

    /// Returns the digits to record for an input.
    mutating func text(for input: PINInput) -> String {
        guard case .complete(let entry) = input else {
            // An incomplete PIN is never compared with another one, so only its kind matters.
            return if case .malformed(.digitsOnly) = input { "02479x" } else { "02479" }
        }
        if let (_, text) = self.known.first(where: { $0.entry.isEqual(to: entry) }) { return text }
        let used = Set(self.known.map(\.text))
        let candidates = Self.candidates(entry.brokenRule)
        // Each rule has as many candidates as PINs that break it, and a thousand candidates break no rule.
        let text = candidates.first { !used.contains($0) } ?? candidates[candidates.count - 1]
        // The caller's entry is wiped once the flows release it. This copy lasts until the recording ends.
        if case .complete(let copy) = input.enteredAgain() { self.known.append((copy, text)) }
        return text
    }

    /// Returns test PINs that break the given rule for new PINs, or no rule if it is nil.
    private static func candidates(_ rule: PINRule?) -> [String] {
        let all: [String] =
            switch rule {
            case .some(.differentDigits): (0...9).map { String(repeating: "\($0)", count: 6) }
            case .some(.notAscending): (0...4).map { start in (start...(start + 5)).map { "\($0)" }.joined() }
            case .some(.notDescending): (5...9).map { start in (0...5).map { "\(start - $0)" }.joined() }
            case .some(.sixCharacters), .some(.digitsOnly), .none:
                (0..<1000).map { number in
                    let digits = "\((24_791 + number * 111_053) % 1_000_000)"
                    return String(repeating: "0", count: 6 - digits.count) + digits
                }
            }
        return all.filter { text in
            guard case .complete(let entry) = PINInput(typed: text.utf8) else { return false }
            return entry.brokenRule == rule
        }
    }
}
