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
