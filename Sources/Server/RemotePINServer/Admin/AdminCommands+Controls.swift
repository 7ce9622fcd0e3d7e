internal import Vault
internal import Vocabulary
internal import WalletStore
internal import Wire

// Commands about what holds for many wallets: the deny list, the flags, the update policy.
extension AdminCommands {
    /// Under which a recovery code is kept.
    func mac(of code: RecoveryCode) async throws(AdminFailure) -> RecoveryCodeMAC {
        let bytes: [UInt8]
        do throws(VaultError) {
            bytes = try await self.services.vault.mac(code.bytes, for: .recoveryCodeIndex)
        } catch {
            throw AdminFailure(error)
        }
        guard let mac = RecoveryCodeMAC(bytes) else {
            throw AdminFailure(.internal, "The vault's MAC has another length than 32 bytes.")
        }
        return mac
    }

    func mac(of name: DeniedName) async throws(AdminFailure) -> RecoveryCodeMAC {
        switch name {
        case .code(let code): try await self.mac(of: code)
        case .mac(let mac): mac
        }
    }

    func wallets(linkedTo mac: RecoveryCodeMAC) async throws(AdminFailure) -> [WalletID] {
        let store = self.services.store
        return try await administered { () throws(StoreError) in try await store.wallets(linkedTo: mac) }
    }

    func denied(after: RecoveryCodeMAC?, limit: Int) async throws(AdminFailure) -> DeniedPage {
        let store = self.services.store
        let page = try await administered { () throws(StoreError) in try await store.denied(after: after, limit: limit)
        }
        return DeniedPage(
            entries: page.entries.map { DeniedEntry(mac: $0.mac, deniedAt: $0.deniedAt) },
            hasMore: page.hasMore
        )
    }

    func denied(_ name: DeniedName) async throws(AdminFailure) -> DeniedReport {
        let (store, mac) = (self.services.store, try await self.mac(of: name))
        let deniedAt = try await administered { () throws(StoreError) in try await store.denied(mac) }
        return DeniedReport(mac: mac, deniedAt: deniedAt)
    }

    func removeDenied(_ name: DeniedName) async throws(AdminFailure) -> DeniedReport {
        let (store, mac) = (self.services.store, try await self.mac(of: name))
        let deniedAt = try await administered { () throws(StoreError) in try await store.removeDenied(mac) }
        return DeniedReport(mac: mac, deniedAt: deniedAt)
    }

    func flags() -> [FlagReport] {
        FeatureFlag.allCases.map { flag in
            let (rollout, setAt) = self.services.terms.controls.rollout(of: flag)
            return FlagReport(flag, rollout, changedAt: setAt)
        }
    }

    func set(_ flag: FeatureFlag, to rollout: Rollout) async throws(AdminFailure) -> [FlagReport] {
        let (services, now) = (self.services, self.services.clock.now())
        guard rollout.isAllowed else {
            throw AdminFailure(.malformed, "A list has 1 … \(Rollout.mostWallets) wallets, a percentage is 0 … 100.")
        }
        try await administered { () throws(StoreError) in
            try await services.terms.controls.set([flag.valueName: rollout.text], at: now)
        }
        return self.flags()
    }

    func updatePolicy() -> UpdatePolicyReport {
        func rules(_ platform: Platform) -> UpdatePolicyReport.Rules {
            let (rules, setAt) = self.services.terms.controls.updateRules(for: platform)
            return UpdatePolicyReport.Rules(rules, setAt: setAt)
        }
        return UpdatePolicyReport(now: self.services.clock.now(), android: rules(.android), iOS: rules(.iOS))
    }

    /// Nil has the settings count again.
    func setUpdatePolicy(
        of platforms: Set<Platform>,
        to rules: [UpdateRule]?
    ) async throws(AdminFailure) -> UpdatePolicyReport {
        let (services, now) = (self.services, self.services.clock.now())
        guard rules?.count ?? 0 <= UpdateRule.most else {
            throw AdminFailure(.malformed, "A platform has at most \(UpdateRule.most) rules.")
        }
        let text = rules.map(UpdateRule.text(of:))
        try await administered { () throws(StoreError) in
            let values = Dictionary(uniqueKeysWithValues: platforms.map { ($0.policyName, text) })
            try await services.terms.controls.set(values, at: now)
        }
        return self.updatePolicy()
    }
}
