internal import ArgumentParser
internal import Foundation
internal import ServerSettings
internal import ConfigText
internal import Vocabulary

/// A rule of the update policy as an operator types it: `..1.4=block`.
struct UpdateRuleText {
    /// What can be typed, for messages.
    static let form = """
        RANGE=WORD with RANGE one of all, ..B (below B), A.. (from A on), A..B (from A, below B) and WORD one of ok, \
        notify, recommend, warn@TIME, block, block-without-update; TIME as 2026-12-24, 2026-12-24T18:00:00Z or +14d
        """

    private let text: String
    private let from: AppVersion?
    private let below: AppVersion?
    private let word: Word

    private enum Word {
        case plain(UpdateRule.Word)
        /// From the server's time on.
        case warn(after: Duration)
    }

    init(_ text: String) throws {
        func refuse(_ why: String) -> ValidationError { ValidationError("`\(text)`: \(why). A rule is \(Self.form).") }
        let sides = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard sides.count == 2 else { throw refuse("there is no `=`") }
        self.text = text
        if sides[0] == "all" {
            (self.from, self.below) = (nil, nil)
        } else {
            guard let dots = sides[0].range(of: "..") else { throw refuse("`\(sides[0])` is no range") }
            func version(_ text: Substring) throws -> AppVersion? {
                if text.isEmpty { return nil }
                guard let version = AppVersion(String(text)) else { throw refuse("`\(text)` is no version") }
                return version
            }
            self.from = try version(sides[0][..<dots.lowerBound])
            self.below = try version(sides[0][dots.upperBound...])
            guard self.from != nil || self.below != nil else { throw refuse("every version is `all`") }
        }
        guard let word = Self.word(sides[1]) else { throw refuse("`\(sides[1])` is no word of the policy") }
        guard UpdateRule(from: self.from, below: self.below, .ok) != nil else {
            throw refuse("no version is in that range")
        }
        self.word = word
    }

    private static func word(_ text: String) -> Word? {
        switch text {
        case "ok": return .plain(.ok)
        case "notify": return .plain(.notify)
        case "recommend": return .plain(.recommend)
        case "block": return .plain(.block(updateAvailable: true))
        case "block-without-update": return .plain(.block(updateAvailable: false))
        default:
            guard text.hasPrefix("warn@") else { return nil }
            let time = String(text.dropFirst(5))
            if time.hasPrefix("+") { return DurationText.read(String(time.dropFirst())).map { .warn(after: $0) } }
            return Timestamp(text: time).map { .plain(.warn(until: $0)) }
        }
    }

    /// Whether the rule can only be told once the server's time is known.
    var needsTime: Bool {
        if case .warn = self.word { return true }
        return false
    }

    /// The rule; `now` is the server's time.
    func rule(now: Timestamp) throws -> UpdateRule {
        let word: UpdateRule.Word =
            switch self.word {
            case .plain(let word): word
            case .warn(let after): .warn(until: now + after)
            }
        guard let rule = UpdateRule(from: self.from, below: self.below, word) else {
            throw ValidationError("`\(self.text)`: no version is in that range.")
        }
        return rule
    }
}

extension UpdateRule {
    /// The range as it is typed.
    var rangeText: String {
        if self.from == nil, self.below == nil { return "all" }
        return "\(self.from.map { "\($0)" } ?? "")..\(self.below.map { "\($0)" } ?? "")"
    }

    /// The word as it is typed.
    var wordText: String {
        switch self.word {
        case .ok: "ok"
        case .notify: "notify"
        case .recommend: "recommend"
        case .warn(let until): "warn@\(until.text)"
        case .block(updateAvailable: true): "block"
        case .block(updateAvailable: false): "block-without-update"
        }
    }

    /// What it says to people, at a time.
    func meaning(at now: Timestamp) -> String {
        switch self.verdict(at: now) {
        case .ok: "fine"
        case .notify: "told that an update exists"
        case .recommend: "an update is recommended"
        case .warn(let blockedIn): "warned: blocked in \(blockedIn.spoken)"
        case .block(updateAvailable: true): "blocked, with an update in the store"
        case .block(updateAvailable: false): "blocked, with no update in the store"
        }
    }
}
