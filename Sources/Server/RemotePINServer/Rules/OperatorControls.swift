internal import Crypto
internal import Synchronization
package import Vocabulary
package import WalletStore

/// The flags and update policies that operators set while the server is running.
///
/// They are kept in memory for every call. The durable values are in the store, and this copy is replaced as soon as a
/// change is committed. If operators have set nothing, the settings apply.
package final class OperatorControls: Sendable {
    /// The decoded values.
    private struct Controls {
        var revision: Int64
        var rollouts: [FeatureFlag: (rollout: Rollout, setAt: Timestamp)] = [:]
        var rules: [Platform: (rules: [UpdateRule], setAt: Timestamp)] = [:]

        /// Decodes the stored values, ignoring names known only to newer versions.
        ///
        /// An unreadable value of a known name is rejected, because ignoring it would serve versions that an operator
        /// has blocked.
        init(_ values: OperatorValues) throws(StoreError) {
            self.revision = values.revision
            for flag in FeatureFlag.allCases {
                guard let value = values.values[flag.valueName] else { continue }
                guard let rollout = Rollout(text: value.text) else { throw .corrupt }
                self.rollouts[flag] = (rollout, value.setAt)
            }
            for platform in Platform.allCases {
                guard let value = values.values[platform.policyName] else { continue }
                guard let rules = UpdateRule.rules(text: value.text) else { throw .corrupt }
                self.rules[platform] = (rules, value.setAt)
            }
        }
    }

    private let store: any WalletStore
    private let settings: UpdatePolicy
    private let controls: Mutex<Controls>

    /// Reads the stored values.
    ///
    /// `settings` applies to platforms without a stored policy.
    init(store: any WalletStore, settings: UpdatePolicy) async throws(StoreError) {
        self.store = store
        self.settings = settings
        self.controls = Mutex(try Controls(try await store.operatorValues()))
    }

    /// Rereads the stored values, because another server on the same store may have changed them.
    func refresh() async throws(StoreError) {
        try self.replace(try await self.store.operatorValues())
    }

    /// Sets which wallets have a feature turned on.
    ///
    /// When this returns, the value is durable and in effect.
    package func set(_ flag: FeatureFlag, to rollout: Rollout, at now: Timestamp) async throws(StoreError) {
        try await self.set([flag.valueName: rollout.text], at: now)
    }

    /// Sets the rules for platforms.
    ///
    /// When this returns, they are durable and in effect. If the rules are nil, those from the settings apply again.
    package func set(_ rules: [UpdateRule]?, for platforms: Set<Platform>, at now: Timestamp) async throws(StoreError) {
        let text = rules.map(UpdateRule.text(of:))
        try await self.set(Dictionary(uniqueKeysWithValues: platforms.map { ($0.policyName, text) }), at: now)
    }

    /// Sets and removes values.
    ///
    /// When this returns, the changes are durable and in effect.
    func set(_ values: [String: String?], at now: Timestamp) async throws(StoreError) {
        try self.replace(try await self.store.setOperatorValues(values, at: now))
    }

    /// Replaces the copy, unless it contains a later state of the store.
    private func replace(_ values: OperatorValues) throws(StoreError) {
        let fresh = try Controls(values)
        self.controls.withLock { controls in
            if fresh.revision > controls.revision { controls = fresh }
        }
    }

    /// Returns whether a feature is turned on for a wallet.
    func isOn(_ flag: FeatureFlag, for wallet: WalletID) -> Bool {
        let rollout = self.controls.withLock { $0.rollouts[flag]?.rollout } ?? .off
        return rollout.includes(wallet, for: flag)
    }

    /// Returns which wallets have a feature turned on and the time at which this was set, or nil if no operator set it.
    package func rollout(of flag: FeatureFlag) -> (rollout: Rollout, setAt: Timestamp?) {
        self.controls.withLock { controls in
            controls.rollouts[flag].map { ($0.rollout, $0.setAt) } ?? (.off, nil)
        }
    }

    /// Returns the rules for a platform and the time at which an operator set them, or nil if they come from the
    /// settings.
    package func updateRules(for platform: Platform) -> (rules: [UpdateRule], setAt: Timestamp?) {
        self.controls.withLock { controls in
            controls.rules[platform].map { ($0.rules, $0.setAt) } ?? (self.settings[platform], nil)
        }
    }

    /// Returns the verdict on a version at the given time.
    func verdict(on version: AppVersion, platform: Platform, at now: Timestamp) -> UpdateVerdict {
        var policy = self.settings
        policy[platform] = self.updateRules(for: platform).rules
        return policy.verdict(on: version, platform: platform, at: now)
    }
}

extension Rollout {
    /// Returns whether a feature is turned on for a wallet.
    ///
    /// For a percentage, a hash of the feature and the wallet id assigns the wallet to one of 100 buckets, and the
    /// feature is turned on for the buckets below the percentage. Once included, a wallet therefore stays included as
    /// the percentage grows, on every server and after a restart. Different features start with different wallets.
    func includes(_ wallet: WalletID, for flag: FeatureFlag) -> Bool {
        switch self {
        case .off: false
        case .on: true
        case .wallets(let wallets): wallets.contains(wallet)
        // rule: server-rollout-not-stable
        case .percentage(let percentage): Self.bucket(of: wallet, for: flag) < percentage
        }
    }

    private static func bucket(of wallet: WalletID, for flag: FeatureFlag) -> Int {
        let input = Array("remote-pin/1 rollout \(flag.rawValue)".utf8) + [0] + wallet.bytes
        let number = SHA256.hash(data: input).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Int(number % 100)
    }
}

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

    /// Decodes a text written by ``text``; returns nil for any other text.
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

    /// Decodes a text written by ``text``; returns nil for any other text.
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
