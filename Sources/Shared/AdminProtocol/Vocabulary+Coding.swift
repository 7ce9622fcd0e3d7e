internal import Foundation
public import Vocabulary

// The JSON representation of protocol terms, which is used in requests, in replies and in the output of `--json`.

/// Encoded as hexadecimal digits.
extension RecoveryCode: Codable {
    /// Decodes lowercase or uppercase digits, and rejects bytes that are not a code.
    public init(from decoder: any Decoder) throws {
        guard let bytes = [UInt8](hex: try String(from: decoder)), let code = RecoveryCode(bytes) else {
            let counts = Self.allowedByteCounts
            throw decoder.invalid(
                "is not \(counts.lowerBound) … \(counts.upperBound) visible ASCII characters in hexadecimal digits"
            )
        }
        self = code
    }

    /// Encodes the code itself, unlike the description, which hides it.
    public func encode(to encoder: any Encoder) throws { try self.bytes.hex.encode(to: encoder) }
}

/// Encoded as ISO 8601 in UTC, with milliseconds.
extension Timestamp: Codable {
    /// Decodes each form that ``init(text:)`` parses, also a date without a time.
    public init(from decoder: any Decoder) throws {
        guard let time = Timestamp(text: try String(from: decoder)) else {
            throw decoder.invalid("is not an ISO 8601 time since 1970")
        }
        self = time
    }

    /// Encodes the ``text``.
    public func encode(to encoder: any Encoder) throws { try self.text.encode(to: encoder) }
}

/// Encoded as `1.4.0`.
extension AppVersion: Codable {
    package init(from decoder: any Decoder) throws {
        guard let version = AppVersion(try String(from: decoder)) else {
            throw decoder.invalid("is not a version of one to four numbers")
        }
        self = version
    }

    package func encode(to encoder: any Encoder) throws { try self.description.encode(to: encoder) }
}

extension Platform: Codable {}
extension FeatureFlag: Codable {}

/// Encoded as `{"state":"list","wallets":[…]}`, `{"percentage":10,"state":"percent"}`, `{"state":"on"}` or
/// `{"state":"off"}`.
extension Rollout: Codable {
    private enum State: String, Codable { case off, on, list, percent }
    private enum CodingKeys: CodingKey { case state, wallets, percentage }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        switch try container.decode(State.self, forKey: .state) {
        case .off: self = .off
        case .on: self = .on
        case .list:
            let wallets = try container.decode([WalletID].self, forKey: .wallets)
            self = .wallets(Set(wallets))
            guard Set(wallets).count == wallets.count else { throw decoder.invalid("names a wallet twice") }
        case .percent: self = .percentage(try container.decode(Int.self, forKey: .percentage))
        }
        guard self.isAllowed else {
            throw decoder.invalid("is not a list of 1 … \(Self.mostWallets) wallets or a percentage of 0 … 100")
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .off: try container.encode(State.off, forKey: .state)
        case .on: try container.encode(State.on, forKey: .state)
        case .wallets(let wallets):
            try container.encode(State.list, forKey: .state)
            try container.encode(wallets.sorted { $0.description < $1.description }, forKey: .wallets)
        case .percentage(let percentage):
            try container.encode(State.percent, forKey: .state)
            try container.encode(percentage, forKey: .percentage)
        }
    }
}

/// Encoded as `{"below":"1.4","from":"1.2","until":"2026-12-24T…","word":"warn"}`.
extension UpdateRule: Codable {
    private enum CodingKeys: CodingKey { case from, below, word, until }

    /// The name of the rule's effect, such as `block-without-update`.
    package var wordName: String {
        switch self.word {
        case .ok: "ok"
        case .notify: "notify"
        case .recommend: "recommend"
        case .warn: "warn"
        case .block(updateAvailable: true): "block"
        case .block(updateAvailable: false): "block-without-update"
        }
    }

    /// Returns the effect with the given ``wordName``, or nil for `warn` and any unknown name.
    package static func word(named name: some StringProtocol) -> Word? {
        let words: [Word] = [.ok, .notify, .recommend, .block(updateAvailable: true), .block(updateAvailable: false)]
        return words.first { UpdateRule($0)?.wordName == String(name) }
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let (from, below) = (
            try container.decodeIfPresent(AppVersion.self, forKey: .from),
            try container.decodeIfPresent(AppVersion.self, forKey: .below)
        )
        let name = try container.decode(String.self, forKey: .word)
        let word =
            name == "warn"
            ? .warn(until: try container.decode(Timestamp.self, forKey: .until)) : Self.word(named: name)
        guard let word, let rule = UpdateRule(from: from, below: below, word) else {
            throw decoder.invalid("is not a rule, or its range contains no version")
        }
        self = rule
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(self.from, forKey: .from)
        try container.encodeIfPresent(self.below, forKey: .below)
        try container.encode(self.wordName, forKey: .word)
        if case .warn(let until) = self.word { try container.encode(until, forKey: .until) }
    }
}

extension Decoder {
    /// Creates the error for an invalid value.
    ///
    /// It does not contain the value itself, because that could be a recovery code.
    fileprivate func invalid(_ problem: String) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: self.codingPath, debugDescription: problem))
    }
}
