package import Vocabulary
internal import WalletStore

// The text form of flags and update policies in the store, which operators can read.

extension FeatureFlag {
    /// The name of the value that contains the flag's setting.
    var valueName: String { "flag \(self.rawValue)" }
}

extension Platform {
    /// The name of the value that contains the platform's update policy.
    var policyName: String { "update-policy \(self.rawValue)" }
}

/// The text is `off`, `on`, `percentage 20`, or `wallets` followed by ids in hexadecimal.
extension Rollout {
    package var text: String {
        switch self {
        case .off: "off"
        case .on: "on"
        case .percentage(let percentage): "percentage \(percentage)"
        case .wallets(let wallets): (["wallets"] + wallets.map(\.description).sorted()).joined(separator: " ")
        }
    }

    /// Decodes only the output of ``text``.
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

/// The text is, for example, `1.2 1.4 warn 1700000000000`: both ends of the range, with `-` for an open end, and the
/// word.
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

    /// Decodes only the output of ``text``.
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

    /// Returns the text of rules, with one line for each rule.
    package static func text(of rules: [UpdateRule]) -> String { rules.map(\.text).joined(separator: "\n") }

    /// Decodes only the output of ``text(of:)``.
    static func rules(text: String) -> [UpdateRule]? {
        let lines = text.split(separator: "\n")
        let rules = lines.compactMap { UpdateRule(text: String($0)) }
        return rules.count == lines.count && rules.count <= UpdateRule.most ? rules : nil
    }
}
