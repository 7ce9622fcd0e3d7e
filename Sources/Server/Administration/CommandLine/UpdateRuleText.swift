internal import AdminProtocol
internal import ArgumentParser
internal import ConfigText
internal import ServerCommandLine
internal import Vocabulary

/// A rule of the update policy as operators type it, such as `..1.4=block`.
struct UpdateRuleText {
    /// The syntax, for use in messages.
    static let form = """
        RANGE=WORD with RANGE one of all, ..B (below B), A.. (from A on), A..B (from A, below B) and WORD one of ok, \
        notify, recommend, warn@TIME, block, block-without-update; TIME as 2026-12-24, 2026-12-24T18:00:00Z or +14d
        """

    private let from: AppVersion?
    private let below: AppVersion?
    private let word: Word

    private enum Word {
        case plain(UpdateRule.Word)
        /// A warning until a time that is relative to the server's clock.
        case warn(after: Duration)
    }

    init(_ text: String) throws {
        func rejected(_ why: String) -> ValidationError {
            ValidationError("`\(text)`: \(why). A rule is \(Self.form).")
        }
        let sides = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard sides.count == 2 else { throw rejected("`=` is missing") }
        if sides[0] == "all" {
            (self.from, self.below) = (nil, nil)
        } else {
            guard let dots = sides[0].firstRange(of: "..") else { throw rejected("`\(sides[0])` is not a range") }
            func version(_ text: Substring) throws -> AppVersion? {
                if text.isEmpty { return nil }
                guard let version = AppVersion(String(text)) else { throw rejected("`\(text)` is not a version") }
                return version
            }
            self.from = try version(sides[0][..<dots.lowerBound])
            self.below = try version(sides[0][dots.upperBound...])
            guard self.from != nil || self.below != nil else { throw rejected("write `all` for every version") }
        }
        guard let word = Self.word(sides[1]) else { throw rejected("`\(sides[1])` is not a word of the policy") }
        guard UpdateRule(from: self.from, below: self.below, .ok) != nil else {
            throw rejected("no version is in that range")
        }
        self.word = word
    }

    private static func word(_ text: String) -> Word? {
        guard text.hasPrefix("warn@") else { return UpdateRule.word(named: text).map(Word.plain) }
        let time = String(text.dropFirst(5))
        if time.hasPrefix("+") { return DurationText.read(String(time.dropFirst())).map { .warn(after: $0) } }
        return Timestamp(text: time).map { .plain(.warn(until: $0)) }
    }

    /// Whether the rule contains a time relative to the server's clock.
    var needsTime: Bool {
        if case .warn = self.word { return true }
        return false
    }

    /// Returns the rule, given the server's current time.
    ///
    /// The range was validated by the initializer.
    func rule(now: Timestamp) -> UpdateRule? {
        switch self.word {
        case .plain(let word): UpdateRule(from: self.from, below: self.below, word)
        case .warn(let after): UpdateRule(from: self.from, below: self.below, .warn(until: now + after))
        }
    }
}

extension UpdateRule {
    /// The range as operators type it.
    var rangeText: String {
        if self.from == nil, self.below == nil { return "all" }
        return "\(self.from.map { "\($0)" } ?? "")..\(self.below.map { "\($0)" } ?? "")"
    }

    /// The action as operators type it.
    var wordText: String {
        if case .warn(let until) = self.word { return "warn@\(until.text)" }
        return self.wordName
    }

    /// Describes the effect on users at the given time.
    func meaning(at now: Timestamp) -> String {
        switch self.verdict(at: now) {
        case .ok: "no message"
        case .notify: "notified that an update exists"
        case .recommend: "an update is recommended"
        case .warn(let blockedIn): "warned: blocked in \(blockedIn.spoken)"
        case .block(updateAvailable: true): "blocked, with an update in the store"
        case .block(updateAvailable: false): "blocked, with no update in the store"
        }
    }
}
