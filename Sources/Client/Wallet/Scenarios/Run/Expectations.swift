internal import ConfigText
internal import SimulatedPhone
internal import Vocabulary
internal import WalletFlows

/// Compares actual with expected values.
///
/// A step reports all its differences at once.
extension ScenarioRun {
    func expect(screen expectation: ConfigValue) async throws(StepProblem) {
        try await self.differences(from: expectation).report("the screen is not as expected")
    }

    /// Compares the screen with several expectations and reports the differences from the closest one.
    func expect(oneOf expectations: [ConfigValue]) async throws(StepProblem) {
        var nearest: Differences?
        for expectation in expectations {
            let found = try await self.differences(from: expectation)
            if found.all.isEmpty { return }
            if found.all.count < nearest?.all.count ?? .max { nearest = found }
        }
        try nearest?.report("none of the \(expectations.count) expectations is met; the nearest one differs")
        throw .failed("`expect one of` has no expectation")
    }

    /// Compares the whole screen with its part of a file, or writes that part if the run updates files.
    func expect(screenOf file: String) async throws(StepProblem) {
        guard await self.current.phone.isInFront else { throw .failed("the app is not in the foreground") }
        let captures = await self.current.captures()
        guard !self.updatesScreens else { return try ScreenFile.update(file, with: captures) }
        var found = Differences()
        try ScreenFile(file).compare(captures, &found)
        try found.report("the screen is not as in \(file), which `--update` rewrites")
    }

    /// Compares all expectations and reports the differences from each of them.
    func expect(all expectations: [Step.Action]) async throws(StepProblem) {
        var messages: [String] = []
        var found: [ScenarioResult.Difference] = []
        var unobservable: StepProblem?
        for expectation in expectations {
            do throws(StepProblem) {
                try await self.take(expectation)
            } catch .failed(let message, let differences) {
                messages.append(message)
                found += differences
            } catch {
                unobservable = error
            }
        }
        guard messages.isEmpty else { throw .failed(messages.joined(separator: "; "), found) }
        if let unobservable { throw unobservable }
    }

    private func differences(from expectation: ConfigValue) async throws(StepProblem) -> Differences {
        let phone = self.current.phone
        let screen = await phone.screen
        var found = Differences()
        found.compare("screen", in: expectation, screen.step)
        found.compare("kind", in: expectation, screen.kind.rawValue)
        found.compare("title", try self.filled(expectation["title"]?.text), screen.title)
        let lines = [screen.message, screen.values["banner"]?.text, screen.values["notice"]?.text]
        let text = lines.compactMap(\.self).joined(separator: " ")
        for expected in expectation["text"]?.texts ?? [] { found.contains("text", try self.filled(expected), text) }
        let offered = screen.actions.map(\.id.rawValue)
        let actions = expectation["actions"]?.texts ?? []
        if !actions.allSatisfy(offered.contains) {
            found.add("actions", actions.joined(separator: ", "), offered.joined(separator: ", "))
        }
        let unwanted = (expectation["no_actions"]?.texts ?? []).filter(offered.contains)
        if !unwanted.isEmpty {
            found.add("no actions", unwanted.joined(separator: ", "), offered.joined(separator: ", "))
        }
        found.compare("input", in: expectation, screen.inputs.first?.id ?? "none")
        let values = (expectation["values"]?.fields ?? [:]).compactMapValues(\.text)
        for (name, expected) in values.sorted(by: { $0.key < $1.key }) {
            found.match("value \(name)", try self.filled(expected), screen.values[name]?.text)
        }
        let obstacle = await phone.obstacle
        found.compare("error", in: expectation, Self.error(obstacle))
        found.compare("exit", in: expectation, WalletExitStatus(obstacle).rawValue)
        found.compare("locked", in: expectation, await phone.isLocked)
        found.compare("running", in: expectation, await phone.isRunning)
        found.compare("in_front", in: expectation, await phone.isInFront)
        found.compare("keychain_items", in: expectation, (try? phone.device.keychain.names())?.count)
        return found
    }

    func expect(_ expectation: TraceExpectation) throws(StepProblem) {
        let trace = self.current.recorder.trace
        switch expectation {
        case .exactly(let steps):
            guard trace != steps else { break }
            throw .failed("the steps taken differ from the expected ones", Differences.ofTraces(steps, trace))
        case .contains(let steps):
            var rest = trace[...]
            for step in steps {
                guard let index = rest.firstIndex(of: step) else {
                    let seen = trace.joined(separator: " ")
                    throw .failed(
                        "the step \(step) was not taken, or not in this order",
                        [.init(what: "trace", expected: "… \(step) …", seen: seen)]
                    )
                }
                rest = rest[(index + 1)...]
            }
        }
        self.current.recorder.clearTrace()
    }

    func expect(server expectation: ConfigValue) async throws(StepProblem) {
        guard let lab = self.world.lab else { throw .unobservable(World.notOurs) }
        var found = Differences()
        guard let walletID = self.current.walletID else {
            found.compare("state", in: expectation, "unknown")
            if expectation["state"] == nil { found.add("wallet", "a registered wallet", "none on this phone") }
            return try found.report("the server's record is not as expected")
        }
        if let record: WalletRecord = try await lab.lookUp("wallet show", ["wallet": walletID]) {
            Self.compare(expectation, record, &found)
        } else {
            found.compare("state", expectation["state"]?.text ?? "a wallet", "unknown")
        }
        try found.report("the server's record is not as expected")
    }

    func expect(event expectation: ConfigValue) throws(StepProblem) {
        let events = self.current.recorder.events
        let expected = expectation.text ?? expectation["name"]?.text ?? "none"
        let values = try ["kind", "url", "title", "details"].map { (key) throws(StepProblem) in
            (key: key, text: try self.filled(expectation[key]?.text))
        }
        func isExpected(_ event: AppEvent) -> Bool {
            event.name == expected && values.allSatisfy { $0.text == nil || $0.text == event.values[$0.key]?.text }
        }
        // Later events are left for later steps.
        if let index = events.firstIndex(where: isExpected) {
            return self.current.recorder.forgetEvents(through: index)
        }
        self.current.recorder.forgetEvents()
        let names = events.map(\.name).joined(separator: ", ")
        if expected == "none" {
            guard !events.isEmpty else { return }
            throw .failed("the host received an event", [.init(what: "events", expected: "none", seen: names)])
        }
        guard let event = events.last(where: { $0.name == expected }) else {
            let seen = names.isEmpty ? "none" : names
            throw .failed("the host did not receive the event", [.init(what: "event", expected: expected, seen: seen)])
        }
        var found = Differences()
        for (key, text) in values { found.compare(key, text, event.values[key]?.text) }
        try found.report("the host received a different event")
    }

    private func filled(_ text: String?) throws(StepProblem) -> String? {
        guard let text else { return nil }
        let filled: String = try self.filled(text)
        return filled
    }

    private static func compare(_ expected: ConfigValue, _ record: WalletRecord, _ found: inout Differences) {
        let (attemptsLeft, isFinalRound): (Int?, Bool?) =
            switch record.pin.state {
            case "open": (record.pin.attemptsLeft, record.pin.finalRound)
            case "blocked": (0, nil)
            default: (0, true)
            }
        found.compare("state", in: expected, record.pin.state)
        found.compare("attempts_left", in: expected, attemptsLeft)
        found.compare("final_round", in: expected, isFinalRound)
        found.compare("failed_attempts", in: expected, record.pin.failures)
        found.compare("round", in: expected, record.pin.round)
        found.compare("revoked", in: expected, record.revocation?.reason ?? "no")
        found.compare("solution_revoked", in: expected, record.solutionRevoked)
        found.compare("recovery_code", in: expected, record.linkedToRecoveryCode)
        found.compare("deletion_code", in: expected, record.hasDeletionCode)
        found.compare("safe_biometric_unlock", in: expected, record.features.safeBiometricUnlock)
    }

    private static func error(_ obstacle: Obstacle?) -> String {
        switch obstacle {
        case .some(.noInternet): "no-internet"
        case .some(.serverUnreachable): "server-unreachable"
        case .some(.deviceInsecure): "device-insecure"
        case .some(.other): "generic"
        case .some(.wrongPIN), .some(.blocked), .some(.blockedPermanently), .some(.revoked), .some(.updateNeeded),
            .some(.pinNotAccepted), .some(.biometricNotAccepted), .none:
            "none"
        }
    }
}

/// The fields of the `wallet show` reply that scenarios can compare.
private struct WalletRecord: Decodable {
    let pin: PIN
    let revocation: Revocation?
    let solutionRevoked: Bool
    let linkedToRecoveryCode: Bool
    let hasDeletionCode: Bool
    let features: Features

    struct PIN: Decodable {
        /// `open`, `blocked` or `blocked-permanently`.
        let state: String
        let round: Int
        let failures: Int
        let attemptsLeft: Int?
        let finalRound: Bool?
    }

    struct Revocation: Decodable {
        let reason: String
    }

    struct Features: Decodable {
        let safeBiometricUnlock: Bool
    }
}

/// Collects the differences between expected and actual values over several comparisons.
struct Differences {
    private(set) var all: [ScenarioResult.Difference] = []

    mutating func add(_ what: String, _ expected: String, _ seen: String) {
        self.all.append(.init(what: what, expected: expected, seen: seen))
    }

    /// Records a difference; does nothing if no value is expected.
    mutating func compare(_ what: String, _ expected: String?, _ seen: String?) {
        guard let expected, expected != seen else { return }
        self.add(what, expected, seen ?? "none")
    }

    /// Compares the value of a key, whose text is the canonical one of its kind.
    mutating func compare(_ key: String, in expected: ConfigValue, _ seen: (some CustomStringConvertible)?) {
        self.compare(key, expected[key]?.text, seen?.description)
    }

    mutating func contains(_ what: String, _ expected: String, _ seen: String) {
        guard !seen.contains(expected) else { return }
        self.add(what, "… \(expected) …", seen.isEmpty ? "nothing" : seen)
    }

    /// Compares a value with an exact string, a range of numbers, or a regular expression between slashes.
    mutating func match(_ what: String, _ expected: String, _ seen: String?) {
        guard let seen else { return self.add(what, expected, "none") }
        if !ValuePattern(expected).matches(seen) { self.add(what, expected, seen) }
    }

    /// Throws the collected differences, if there are any.
    func report(_ message: String) throws(StepProblem) {
        guard self.all.isEmpty else { throw .failed(message, self.all) }
    }

    /// Returns two traces side by side, starting two steps before the first difference.
    static func ofTraces(_ expected: [String], _ seen: [String]) -> [ScenarioResult.Difference] {
        let common = zip(expected, seen).prefix { $0 == $1 }.count
        let start = max(0, common - 2)
        return (start..<max(expected.count, seen.count)).map { index in
            let left = index < expected.count ? expected[index] : "(the end)"
            let right = index < seen.count ? seen[index] : "(the end)"
            return .init(what: "step \(index + 1)\(left == right ? "" : " ≠")", expected: left, seen: right)
        }
    }
}

/// An expected value: an exact string, a range like `1..60`, or a regular expression like `/[0-9]+/`.
enum ValuePattern {
    case exactly(String)
    case range(ClosedRange<Int64>)
    case pattern(String)

    init(_ text: String) {
        if text.count > 1, text.hasPrefix("/"), text.hasSuffix("/") {
            self = .pattern(String(text.dropFirst().dropLast()))
        } else if let range = Self.range(text) {
            self = .range(range)
        } else {
            self = .exactly(text)
        }
    }

    /// Whether the regular expression can be compiled, and the range is not empty; true for all other patterns.
    var isValid: Bool {
        switch self {
        case .exactly(let text): text.wholeMatch(of: /-?[0-9]+\.\.-?[0-9]+/) == nil
        case .range: true
        case .pattern(let pattern): (try? Regex(pattern)) != nil
        }
    }

    func matches(_ text: String) -> Bool {
        switch self {
        case .exactly(let expected): return text == expected
        case .range(let range): return Int64(text).map(range.contains) ?? false
        case .pattern(let pattern):
            guard let regex = try? Regex(pattern) else { return false }
            return text.wholeMatch(of: regex) != nil
        }
    }

    private static func range(_ text: String) -> ClosedRange<Int64>? {
        let parts = text.split(separator: "..", maxSplits: 1).map(String.init)
        guard parts.count == 2, let low = Int64(parts[0]), let high = Int64(parts[1]), low <= high else { return nil }
        return low...high
    }
}
