package import AuditLog
package import HostSystem
internal import LogLines
internal import Logging
package import Secrets
package import Transport
package import Vault
package import Vocabulary
package import WalletStore
package import Wire

// The parts of a running server used by admin commands and the deletion portal.

extension RemotePINServer {
    package var store: any WalletStore { self.state.store }
    package var vault: any Vault { self.state.vault }
    package var audit: AuditLog { self.state.revocations.audit }
    package var clock: any WallClock { self.state.clock }
    package var rules: ServiceRules { self.state.terms.rules }
    package var controls: OperatorControls { self.state.terms.controls }

    /// Replaces the limits for each source, starting with the next call.
    package func use(_ limits: SourceLimits) { self.state.limits.use(limits) }

    /// The real time since the server was created.
    package var uptime: Duration { .now - self.state.statistics.start }

    /// Returns the time at which the status list was fetched, or nil if there is none, and whether it is too old to
    /// use.
    package func statusListAge(at now: Timestamp) -> (fetched: Timestamp?, isStale: Bool) {
        self.state.devices.attestations.age(at: now)
    }

    /// Returns up to `limit` open sessions after the given connection, sorted by connection, and whether there are
    /// more.
    package func openSessions(after last: UInt64, limit: Int) -> (page: [ListedSession], hasMore: Bool) {
        let (page, hasMore) = self.state.registry.sessions(after: last, limit: limit)
        let sessions = page.map { connection, session in
            ListedSession(
                connection: connection,
                walletID: session.walletID,
                source: session.source,
                since: session.since,
                instructions: session.activity.instructions,
                appVersion: session.app.version,
                platform: session.app.platform
            )
        }
        return (sessions, hasMore)
    }

    /// Returns the number of connections that use a wallet.
    package func connectionCount(of wallet: WalletID) -> Int { self.state.registry.count(of: wallet) }

    /// Returns the start of a wallet's last session if it has not been written to the store yet.
    package func unsavedLastSession(of wallet: WalletID) -> Timestamp? { self.state.lastSessions.last(of: wallet) }

    /// Returns the features offered in the wallet's next session.
    package func features(of wallet: WalletID) -> Features { self.state.terms.features(of: wallet) }

    /// Serializes links to a recovery code with its denial, because the audit log names the linked wallets before the
    /// denial is committed.
    package var recoveryCodeLocks: KeyedAsyncLock<RecoveryCodeMAC> { self.state.revocations.recoveryCodeLocks }

    /// Closes these wallets' connections, and returns once they are closed.
    ///
    /// - Important: Must be called after the revocation has been committed, never before.
    package func closeConnections(of wallets: some Sequence<WalletID>) async {
        await self.state.registry.abortAll(of: wallets)
    }

    /// Returns once no answer to any wallet's connection is in flight.
    package func settleAll() async { await self.state.registry.settleAll() }

    /// This server's lease, if several servers may use the store.
    package var lease: (any ServerLease)? { self.state.lease }

    /// Reports a committed event to the hooks and metrics.
    package func report(_ incident: WalletIncident) { self.state.onEvent(incident) }

    /// Returns the attested app from a wallet's unsealed identity, or nil if the bytes were not written by this server.
    package func app(in identity: borrowing SecretBytes) -> RegisteredApp? {
        IdentityRecord(identity.exposedBytes()).map {
            RegisteredApp(platform: $0.platform, id: $0.appID, environment: $0.environment)
        }
    }

    /// Revokes the wallet whose deletion code was entered on the deletion portal.
    ///
    /// - Parameter source: The address of the browser according to the portal. A portal that gives a false address
    ///   evades a rate limit, but gains nothing else that a browser does not have.
    package func revoke(deletionCode: String, typedAt source: PeerSource) async -> PortalRevocation {
        var log = self.log
        log[metadataKey: "portal"] = "\(source)"
        log[metadataKey: "correlation"] = "\(CorrelationID.random())"
        let now = self.state.clock.now()
        let account = self.state.limits.sources.account(of: source, at: now)
        do {
            try self.state.limits.takeCode(of: account, at: now, log: log)
            return .done(
                try await self.state.revocations.revoke(
                    deletionCode: deletionCode,
                    by: .portal,
                    asking: nil,
                    at: now,
                    log: log
                )
            )
        } catch {
            let failure = CallFailure(error)
            let level = failure.logLevel
            if let suppressed = self.state.limits.refusalLog.allow(level, of: account, at: now) {
                let reason: Logger.Metadata = ["reason": "\(failure.logged)"]
                log.log(level: level, "refused", metadata: LogRateLimiter.metadata(reason, suppressed: suppressed))
            }
            if case .store(.notErased) = failure { return .incomplete }
            return .refused(failure.refusal)
        }
    }
}

/// An open session.
package struct ListedSession: Sendable {
    /// The connection number used in the log.
    package let connection: UInt64
    package let walletID: WalletID
    package let source: PeerSource
    package let since: Timestamp
    package let instructions: Int
    /// The version claimed by the app.
    package let appVersion: AppVersion
    /// The platform claimed by the app.
    package let platform: Platform
}

/// The app that registered a wallet.
package struct RegisteredApp: Hashable, Sendable {
    package let platform: Platform
    /// The package name, or the team id and bundle id, at most 255 bytes long.
    package let id: String
    /// The App Attest environment, at most 31 bytes long.
    ///
    /// Empty on Android.
    package let environment: String
}

/// The outcome of entering a deletion code on the portal.
package enum PortalRevocation: Sendable {
    case done(CodeRevocation)
    /// The code was rejected for this reason, and no wallet was changed.
    case refused(Refusal.Reason)
    /// The wallet is revoked, but the store's log still contains its shares.
    case incomplete
}
