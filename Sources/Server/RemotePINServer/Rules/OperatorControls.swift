internal import Synchronization
internal import Vocabulary
internal import WalletStore

/// What operators set while the server runs, at hand for every call.
///
/// The store has it durably; here is a copy that is replaced the moment a change is committed. The settings hold where
/// nothing was set.
final class OperatorControls: Sendable {
    /// What was set, read.
    private struct Controls {
        var revision: Int64
        var rollouts: [FeatureFlag: (rollout: Rollout, setAt: Timestamp)] = [:]
        var rules: [Platform: (rules: [UpdateRule], setAt: Timestamp)] = [:]

        /// Names that this version does not know are a newer one's, and are left alone.
        ///
        /// A value of a known name that cannot be read is refused: taking it for nothing would serve versions that an
        /// operator blocked.
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

    /// Reads what was set before; `settings` holds for platforms whose policy was not.
    init(store: any WalletStore, settings: UpdatePolicy) async throws(StoreError) {
        self.store = store
        self.settings = settings
        self.controls = Mutex(try Controls(try await store.operatorValues()))
    }

    /// Reads again what was set, perhaps by another server on the same store.
    func refresh() async throws(StoreError) {
        try self.take(try await self.store.operatorValues())
    }

    /// Sets and removes values, durably; they count from here on.
    func set(_ values: [String: String?], at now: Timestamp) async throws(StoreError) {
        try self.take(try await self.store.setOperatorValues(values, at: now))
    }

    /// Takes over what the store holds, unless a later state of it was taken over already.
    private func take(_ values: OperatorValues) throws(StoreError) {
        let fresh = try Controls(values)
        self.controls.withLock { controls in
            if fresh.revision > controls.revision { controls = fresh }
        }
    }

    /// Whether a feature is on for a wallet.
    func isOn(_ flag: FeatureFlag, for wallet: WalletID) -> Bool {
        let rollout = self.controls.withLock { $0.rollouts[flag]?.rollout } ?? .off
        return rollout.includes(wallet, for: flag)
    }

    /// For which wallets a feature is on, and since when it is so; nil where nobody set it.
    func rollout(of flag: FeatureFlag) -> (rollout: Rollout, setAt: Timestamp?) {
        self.controls.withLock { controls in
            controls.rollouts[flag].map { ($0.rollout, $0.setAt) } ?? (.off, nil)
        }
    }

    /// The rules that count for a platform, and when an operator set them; nil where they are the settings'.
    func updateRules(for platform: Platform) -> (rules: [UpdateRule], setAt: Timestamp?) {
        self.controls.withLock { controls in
            controls.rules[platform].map { ($0.rules, $0.setAt) } ?? (self.settings[platform], nil)
        }
    }

    /// What is said to a version now.
    func verdict(on version: AppVersion, platform: Platform, at now: Timestamp) -> UpdateVerdict {
        var policy = self.settings
        policy[platform] = self.updateRules(for: platform).rules
        return policy.verdict(on: version, platform: platform, at: now)
    }
}
