internal import Logging
internal import PINPolicy
internal import Secrets
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
                stored.attempts(under: services.rules.attempts),
                policy: services.rules.attempts,
                now: now
            ),
            isLinkedToRecoveryCode: stored.isLinkedToRecoveryCode,
            hasDeletionCode: stored.hasDeletionCode,
            features: services.features(of: wallet),
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
        let outcome = try await administered { () throws(StoreError) in
            try await services.store.revoke(wallets: wallets, at: now)
        }
        switch outcome {
        case .unknown(let unknown): throw .unknown(unknown)
        case .revoked(let ended, let before):
            await services.registry.settle(wallets)
            if ended > 0 {
                let revocation = Revocation(reason: .wallet, mayRegisterAnew: true)
                await self.tellEnds(of: wallets, at: now, revocation, "wallet revoked by an operator")
            }
            return .walletsRevoked(now: ended, before: before)
        }
    }

    func revoke(_ code: RecoveryCode) async throws(AdminFailure) -> RecoveryCodeRevocation {
        let (services, now) = (self.services, self.services.clock.now())
        let mac = try await self.mac(of: code)
        let outcome = try await administered { () throws(StoreError) in
            try await services.store.revoke(recoveryCode: mac, at: now)
        }
        await services.registry.settle(outcome.linked)
        self.server.log.notice("recovery code denied", metadata: ["walletsRevoked": "\(outcome.ended)"])
        if outcome.ended > 0 {
            let revocation = Revocation(reason: .recoveryCode, mayRegisterAnew: false)
            await self.tellEnds(of: outcome.linked, at: now, revocation, "wallet revoked by its recovery code")
        }
        return RecoveryCodeRevocation(
            entry: DeniedEntry(mac: mac, deniedAt: outcome.deniedAt),
            wasDenied: outcome.wasDenied,
            revoked: outcome.ended
        )
    }

    /// Tells of those wallets that a step at `now` ended, not of those that had ended before.
    private func tellEnds(
        of wallets: some Sequence<WalletID>,
        at now: Timestamp,
        _ revocation: Revocation,
        _ line: Logger.Message
    ) async {
        for wallet in Set(wallets) {
            // It is told of one too many rather than of one too few.
            if let report = try? await self.services.store.report(of: wallet), report.revokedAt != now { continue }
            self.server.log.notice(line, metadata: ["wallet": "\(wallet)"])
            self.services.onEvent(.revoked(wallet, revocation))
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
        let named = wallets.prefix(8).map(\.description).joined(separator: ", ")
        let more = wallets.count > 8 ? " and \(wallets.count - 8) more" : ""
        return AdminFailure(.unknownWallet, "There is no wallet \(named)\(more); nothing was done.")
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
