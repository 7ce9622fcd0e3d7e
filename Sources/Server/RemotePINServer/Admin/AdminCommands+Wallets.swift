internal import Logging
internal import PINPolicy
internal import Secrets
internal import StoreMaintenance
internal import Vault
internal import Vocabulary
internal import WalletStore
internal import Wire

// Commands about wallets: what is on file, and their ends.
//
// The answer to a revocation means that nothing of the wallet leaves this server any more (G7): the step is committed,
// then its connections are settled, and only then is it given.
extension AdminCommands {
    /// What is on file; the identity is opened for its public parts alone.
    func report(of wallet: WalletID) async throws(AdminFailure) -> WalletReport {
        let (services, now) = (self.services, self.services.clock.now())
        let stored = try await administered { () throws(StoreError) in try await services.store.report(of: wallet) }
        guard let stored else { throw .unknown([wallet]) }
        let identity = try await self.identity(stored.identity, of: wallet)
        return WalletReport(
            walletID: wallet,
            now: now,
            registeredAt: stored.registeredAt,
            sessionOpened: stored.sessionOpened,
            lastSession: services.lastSessions.last(of: wallet) ?? stored.lastSession,
            openConnections: services.registry.count(of: wallet),
            revoked: stored.revocation.map { WalletReport.Ended($0, at: stored.revokedAt) },
            solutionRevoked: stored.isSolutionRevoked,
            pin: WalletReport.PIN(
                stored.attempts(under: services.terms.rules.attempts),
                policy: services.terms.rules.attempts,
                now: now
            ),
            isLinkedToRecoveryCode: stored.isLinkedToRecoveryCode,
            hasDeletionCode: stored.hasDeletionCode,
            features: services.terms.features(of: wallet),
            app: WalletReport.App(
                platform: identity.platform,
                id: identity.appID,
                environment: identity.environment
            ),
            assertionCounter: stored.assertionCounter,
            attested: stored.attested
        )
    }

    private func identity(_ sealed: Sealed, of wallet: WalletID) async throws(AdminFailure) -> IdentityRecord {
        let bytes: SecretBytes
        do throws(VaultError) {
            bytes = try await self.services.vault.unseal(sealed, as: .identity, of: wallet)
        } catch {
            throw AdminFailure(error)
        }
        guard let identity = IdentityRecord(bytes.exposedBytes()) else {
            throw AdminFailure(.internal, "The wallet's identity does not read as this server writes it.")
        }
        return identity
    }

    func revoke(_ wallets: [WalletID]) async throws(AdminFailure) -> AdminResult {
        let (services, now) = (self.services, self.services.clock.now())
        let outcome: WalletsRevocationOutcome
        do throws(StoreError) {
            outcome = try await services.store.revoke(wallets: wallets, at: now)
        } catch {
            // Told now, since the same again finds them ended.
            if error == .notErased { await self.settle(wallets, endedAt: now, by: .operator) }
            throw AdminFailure(error)
        }
        switch outcome {
        case .unknown(let unknown): throw .unknown(unknown)
        case .revoked(let ended, let before):
            await self.settle(wallets, endedAt: ended > 0 ? now : nil, by: .operator)
            return .walletsRevoked(now: ended, before: before)
        }
    }

    func revoke(_ code: RecoveryCode) async throws(AdminFailure) -> RecoveryCodeRevocation {
        let (services, now) = (self.services, self.services.clock.now())
        let mac = try await self.mac(of: code)
        let outcome: RecoveryCodeRevocationOutcome
        do throws(StoreError) {
            outcome = try await services.store.revoke(recoveryCode: mac, at: now)
        } catch {
            if error == .notErased, let linked = try? await self.wallets(linkedTo: mac) {
                self.server.log.notice("recovery code denied")
                await self.settle(linked, endedAt: now, by: .recoveryCode)
            }
            throw AdminFailure(error)
        }
        self.server.log.notice("recovery code denied", metadata: ["walletsRevoked": "\(outcome.ended)"])
        await self.settle(outcome.linked, endedAt: outcome.ended > 0 ? now : nil, by: .recoveryCode)
        return RecoveryCodeRevocation(
            entry: DeniedEntry(mac: mac, deniedAt: outcome.deniedAt),
            wasDenied: outcome.wasDenied,
            revoked: outcome.ended
        )
    }

    /// By what a command ended wallets.
    private enum Cause {
        case `operator`
        case recoveryCode

        var revocation: Revocation {
            switch self {
            case .operator: Revocation(reason: .wallet, mayRegisterAnew: true)
            case .recoveryCode: Revocation(reason: .recoveryCode, mayRegisterAnew: false)
            }
        }

        var line: Logger.Message {
            switch self {
            case .operator: "wallet revoked by an operator"
            case .recoveryCode: "wallet revoked by its recovery code"
            }
        }
    }

    /// Ends the wallets' connections, and tells of those that a step at `now` ended, not of those that had ended before.
    ///
    /// - Parameter now: nil where none ended then.
    private func settle(_ wallets: some Collection<WalletID>, endedAt now: Timestamp?, by cause: Cause) async {
        await self.services.registry.settle(wallets)
        guard let now else { return }
        for wallet in Set(wallets) {
            // It is told of one too many rather than of one too few.
            if let report = try? await self.services.store.report(of: wallet), report.revokedAt != now { continue }
            self.server.log.notice(cause.line, metadata: ["wallet": "\(wallet)"])
            self.services.onEvent(.revoked(wallet, cause.revocation))
        }
    }

    func setSolutionRevoked(_ isRevoked: Bool) async throws(AdminFailure) -> AdminResult {
        let services = self.services
        let changed = try await administered { () throws(StoreError) in
            try await services.store.setSolutionRevoked(isRevoked)
        }
        if isRevoked { await services.registry.settleAll() }
        if changed {
            self.server.log.notice(isRevoked ? "solution revoked" : "solution restored")
            services.onEvent(isRevoked ? .solutionRevoked : .solutionRestored)
        }
        return .solution(isRevoked: isRevoked, changed: changed)
    }
}

extension AdminFailure {
    /// There are no wallets of these ids.
    fileprivate static func unknown(_ wallets: [WalletID]) -> AdminFailure {
        AdminFailure(.unknownWallet, "There is no \(wallets.named(atMost: 8)); nothing was done.")
    }
}

extension WalletReport.PIN {
    /// What a record says under a policy.
    init(_ record: AttemptRecord, policy: AttemptPolicy, now: Timestamp) {
        let state = record.state(policy: policy, now: now)
        var blockedUntil: Timestamp?
        if case .blocked(let remaining) = state { blockedUntil = now + remaining }
        let round = record.failures / policy.attemptsPerRound + 1
        self.init(
            state: state,
            round: state == .blockedPermanently ? policy.rounds : min(round, policy.rounds),
            failures: record.failures,
            blockedUntil: blockedUntil
        )
    }
}
