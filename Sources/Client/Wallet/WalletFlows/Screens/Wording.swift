package import Vocabulary

/// Renders a ``Scene``, the language-independent form of a screen, as a ``Screen`` with texts in one language and the
/// app's product name.
public struct Wording: Hashable, Sendable {
    /// The supported languages.
    ///
    /// To add one, add a case and a file with its texts.
    public enum Language: String, Hashable, Sendable, CaseIterable {
        /// English.
        case english = "en"
        /// Dutch.
        case dutch = "nl"
    }

    /// The language of titles, messages and actions.
    public var language: Language
    /// The app's name in its texts.
    public var product: String

    /// Creates the wording for a language and product name.
    public init(language: Language = .english, product: String = "NL Wallet") {
        self.language = language
        self.product = product
    }

    /// Returns the screen at the given time.
    ///
    /// Countdowns are always up to date.
    ///
    /// - Parameter uptime: The phone's ``Device/uptime`` at that time, with which countdowns are measured.
    package func screen(_ scene: Scene, at now: Timestamp, uptime: Duration) -> Screen {
        let now = (clock: now, uptime: uptime)
        var values: [String: Screen.Value] = [:]
        for value in scene.values { self.add(value, to: &values, at: now) }
        if let banner = scene.banner { values["banner"] = .text(self.string(banner, at: now)) }
        if let notice = scene.notice { self.add(notice, to: &values, at: now) }
        return Screen(
            step: scene.step.description,
            kind: scene.kind,
            title: self.string(scene.title, at: now),
            message: scene.message.map { self.string($0, at: now) } ?? "",
            values: values,
            inputs: self.inputs(of: scene),
            actions: scene.choices.map { choice in
                Screen.Action(id: choice.id, title: self.title(choice.id), step: choice.step.description)
            }
        )
    }

    private func inputs(of scene: Scene) -> [Screen.Input] {
        let pin = scene.input.map { Screen.Input(id: "pin", length: 6, step: $0.step.description) }
        let prompt = scene.prompt.map { _ in
            Screen.Input(id: "biometric", length: 0, step: scene.step.description)
        }
        return [pin, prompt].compactMap(\.self)
    }

    /// Adds a value under its name for programs.
    private func add(
        _ value: Scene.Value,
        to values: inout [String: Screen.Value],
        at now: (clock: Timestamp, uptime: Duration)
    ) {
        switch value {
        case .deletionCode(let code): values["deletionCode"] = .text(code.grouped)
        case .attemptsLeft(let count): values["attemptsLeft"] = .number(Int64(count))
        case .finalRound(let isFinal): values["finalRound"] = .truth(isFinal)
        case .blockedUntil(let end): values["remainingMs"] = .number(max(0, (end - now.uptime).milliseconds))
        case .locksAt(let end): values["remainingMs"] = .number(max(0, (end - now.uptime).milliseconds))
        case .brokenRule(let rule): values["rule"] = .text(rule.rawValue)
        case .correlationID(let id): values["correlationID"] = .text(id)
        case .cause(let cause): values["cause"] = .text(cause.rawValue)
        case .product: values["product"] = .text(self.product)
        case .version(let version): values["version"] = .text(version.description)
        case .server(let address): values["server"] = .text(address)
        }
    }

    private func add(
        _ notice: AttemptNotice,
        to values: inout [String: Screen.Value],
        at now: (clock: Timestamp, uptime: Duration)
    ) {
        values["notice"] = .text(self.string(.attempts(notice), at: now))
        let wrongPINs = max(notice.wrongPINs, notice.hint?.wrongPINs ?? 0)
        if wrongPINs > 0 {
            values["wrongPINs"] = .number(Int64(wrongPINs))
            if let since = notice.since { values["wrongPINsSinceMs"] = .number(since.milliseconds) }
        }
        if !notice.tampering.isEmpty {
            values["tampering"] = .text(notice.tampering.map(\.rawValue).joined(separator: " "))
        }
        if let hint = notice.hint { values["attemptHint"] = .text(hint.finding.rawValue) }
    }

    private func string(_ text: Text, at now: (clock: Timestamp, uptime: Duration)) -> String {
        switch self.language {
        case .english: English(product: self.product, now: now.clock, uptime: now.uptime).string(text)
        case .dutch: Dutch(product: self.product, now: now.clock, uptime: now.uptime).string(text)
        }
    }

    private func title(_ action: ActionID) -> String {
        switch self.language {
        case .english: English(product: self.product, now: .init(milliseconds: 0), uptime: .zero).title(action)
        case .dutch: Dutch(product: self.product, now: .init(milliseconds: 0), uptime: .zero).title(action)
        }
    }
}
