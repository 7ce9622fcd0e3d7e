internal import HostSystem
internal import Vocabulary
internal import Wire

/// Steps that use the admin socket or the deletion portal.
extension ScenarioRun {
    func operate(_ step: OperatorStep) async throws(StepProblem) {
        let lab = try self.world.requireLab()
        switch step {
        case .revokeWallet(let phone):
            try await lab.operate("revoke wallet", ["wallets": [try self.walletID(of: phone)]])
        case .revokeRecoveryCode(let code):
            try await lab.operate("revoke recovery-code", ["code": try self.recoveryCode(code)])
        case .removeFromDenyList(let code):
            try await lab.operate("deny-list remove", ["code": try self.recoveryCode(code)])
        case .revokeSolution: try await lab.operate("revoke solution")
        case .restoreSolution: try await lab.operate("restore solution")
        case .refreshShares: try await self.refreshShares(lab)
        case .safeBiometricUnlock(let rollout):
            let flag = Flag(flag: .safeBiometricUnlock, rollout: try self.rollout(rollout))
            try await lab.operate("flags set", flag)
        case .updatePolicy(let rules):
            guard !rules.isEmpty else {
                return try await lab.operate("update-policy clear", ["platforms": Platform.allCases])
            }
            guard let now: ServerTime = try await lab.lookUp("update-policy show") else {
                throw .failed("the server does not show its update policy")
            }
            let policy = Policy(rules: try rules.map { (rule) throws(StepProblem) in try rule.rule(at: now.now) })
            try await lab.operate("update-policy set", policy)
        }
    }

    /// Begins the replacement and waits until the server has made the shares of all wallets.
    private func refreshShares(_ lab: LabServer) async throws(StepProblem) {
        struct Maintenance: Decodable {
            let refresh: Progress?

            struct Progress: Decodable {
                let state: String
                let problem: String?
            }
        }
        try await lab.operate("vault refresh-shares")
        while let maintenance: Maintenance = try await lab.lookUp("maintenance show") {
            switch maintenance.refresh?.state {
            case "running": try? await Task.sleep(for: .milliseconds(10))
            case "done": return
            default: throw .failed("the shares are not replaced: \(maintenance.refresh?.problem ?? "unknown state")")
            }
        }
    }

    private struct Flag: Encodable {
        let flag: FeatureFlag
        let rollout: Rollout
    }

    private struct Policy: Encodable {
        let platforms = Platform.allCases
        let rules: [UpdateRule]
    }

    private struct ServerTime: Decodable {
        let now: Timestamp
    }

    /// Enters a code in the deletion portal, which only reveals whether the code is right.
    func revoke(with code: String) async throws(StepProblem) {
        switch try await self.world.revoke(with: try self.filled(code)) {
        case .revoked: return
        case .notRecognised: throw .failed("the portal did not recognize the code")
        }
    }

    /// Returns the id of the named phone's wallet, or of the current phone's if `name` is nil.
    private func walletID(of name: String?) throws(StepProblem) -> WalletID {
        guard let name else {
            guard let walletID = self.current.walletID else { throw .failed("no wallet was registered on the phone") }
            return walletID
        }
        guard let phone = self.phones[name] else {
            throw .failed("unknown phone `\(name)`; known are \(self.phones.keys.sorted().joined(separator: ", "))")
        }
        guard let walletID = phone.walletID else { throw .failed("no wallet was registered on the phone `\(name)`") }
        return walletID
    }

    private func recoveryCode(_ text: String) throws(StepProblem) -> RecoveryCode {
        let filled = try self.filled(text)
        return try mapError(RecoveryCode(reading: filled.utf8)) { (problem: SecretTextProblem) in
            StepProblem.failed("the recovery code \(problem)")
        }
    }

    private func rollout(_ rollout: OperatorStep.Rollout) throws(StepProblem) -> Rollout {
        switch rollout {
        case .off: return .off
        case .on: return .on
        case .percentage(let percentage): return .percentage(percentage)
        case .phones(let names):
            return .wallets(Set(try names.map { (name) throws(StepProblem) in try self.walletID(of: name) }))
        }
    }
}

extension OperatorStep.Rule {
    /// Converts the rule to its admin protocol form.
    func rule(at now: Timestamp) throws(StepProblem) -> UpdateRule {
        let word: UpdateRule.Word =
            switch self.word {
            case "notify": .notify
            case "recommend": .recommend
            case "warn": .warn(until: now + (self.blockedIn ?? .seconds(86_400)))
            case "block": .block(updateAvailable: self.isUpdateAvailable)
            default: .ok
            }
        guard
            let rule = UpdateRule(
                from: self.from.flatMap(AppVersion.init),
                below: self.below.flatMap(AppVersion.init),
                word
            )
        else { throw .failed("the rule's range of versions is empty") }
        return rule
    }
}
