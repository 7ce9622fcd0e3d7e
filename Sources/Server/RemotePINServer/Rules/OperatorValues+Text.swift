package import Vocabulary

// The text format of flags and update policies in the store, which operators can read.

extension FeatureFlag {
    /// The name of the value for the flag's setting.
    var valueName: String { "flag \(self.rawValue)" }
}

/// Converts to and from `off`, `on`, `percentage 20`, or `wallets` followed by ids in hexadecimal.
extension Rollout {
    package var text: String {
        switch self {
        case .off: "off"
        case .on: "on"
        case .percentage(let percentage): "percentage \(percentage)"
        case .wallets(let wallets): (["wallets"] + wallets.map(\.description).sorted()).joined(separator: " ")
        }
    }

    /// Decodes a text written by ``text``.
    ///
    /// Returns nil for any other text.
    init?(text: String) {
        let words = text.split(separator: " ").map(String.init)
        switch (words.first, words.count) {
        case ("off", 1): self = .off
        case ("on", 1): self = .on
        case ("percentage", 2):
            guard let percentage = Int(words[1]) else { return nil }
            self = .percentage(percentage)
        case ("wallets", _):
            let wallets = words.dropFirst().compactMap { WalletID(hex: $0) }
            guard wallets.count == words.count - 1 else { return nil }
            self = .wallets(Set(wallets))
        default: return nil
        }
        guard self.isAllowed, self.text == text else { return nil }
    }
}

/// Converts to and from text such as `1.2 1.4 warn 1700000000000`.
///
/// It contains both ends of the range, with `-` for an open end, and the word.
extension UpdateRule {
    var text: String {
        let word =
            switch self.word {
            case .ok: "ok"
            case .notify: "notify"
            case .recommend: "recommend"
            case .warn(let until): "warn \(until.milliseconds)"
            case .block(updateAvailable: true): "block"
            case .block(updateAvailable: false): "block-without-update"
            }
        return "\(self.from.map { "\($0)" } ?? "-") \(self.below.map { "\($0)" } ?? "-") \(word)"
    }

    /// Decodes a text written by ``text``.
    ///
    /// Returns nil for any other text.
    init?(text: String) {
        let words = text.split(separator: " ").map(String.init)
        guard words.count >= 3 else { return nil }
        let word: Word
        switch (words[2], words.count) {
        case ("ok", 3): word = .ok
        case ("notify", 3): word = .notify
        case ("recommend", 3): word = .recommend
        case ("block", 3): word = .block(updateAvailable: true)
        case ("block-without-update", 3): word = .block(updateAvailable: false)
        case ("warn", 4):
            guard let until = Int64(words[3]) else { return nil }
            word = .warn(until: Timestamp(milliseconds: until))
        default: return nil
        }
        self.init(from: AppVersion(words[0]), below: AppVersion(words[1]), word)
        guard self.text == text else { return nil }
    }

    /// Returns the text for rules, one line per rule.
    package static func text(of rules: [UpdateRule]) -> String { rules.map(\.text).joined(separator: "\n") }

    /// Decodes a text written by ``text(of:)``.
    ///
    /// Returns nil for any other text.
    static func rules(text: String) -> [UpdateRule]? {
        let lines = text.split(separator: "\n")
        let rules = lines.compactMap { UpdateRule(text: String($0)) }
        return rules.count == lines.count && rules.count <= UpdateRule.most ? rules : nil
    }
}
