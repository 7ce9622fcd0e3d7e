package import AttestationVerifier
package import AuditLog
package import HostSystem
package import Logging
internal import Telemetry
package import Metrics
internal import ServiceLifecycle
internal import Synchronization
package import Transport
package import Vault
package import Vocabulary
package import WalletStore
package import Wire

/// The server.
///
/// It accepts connections and handles their calls with the parts it was given. It contains no rules. It owns the timers
/// and the state shared by all connections.
package final class RemotePINServer: Sendable {
    /// The parts that a server is made of.
    package struct Parts: Sendable {
        package var rules: ServiceRules
        package var clock: any WallClock
        package var store: any WalletStore
        /// This server's lease, if several servers may use the store.
        package var lease: (any ServerLease)?
        package var vault: any Vault
        package var attestations: EvidenceVerifier
        /// The file that contains the verifier's status list, if the list may change.
        ///
        /// If nil, the verifier is left unchanged.
        package var statusList: StatusListFile?
        /// The record of every command and every revocation.
        package var audit: AuditLog
        package var log: Logger
        /// Returns the receipt keys up to a version of the vault's keys in ascending order, or nil if the vault lacks
        /// that version.
        ///
        /// The last one signs.
        package var receiptKeys: @Sendable (_ version: UInt32?) -> [ReceiptKeyLink]?
        /// The factory used to create the counters of calls and of the vault.
        package var metrics: any MetricsFactory
        /// Called with each committed wallet incident.
        ///
        /// Must not block.
        package var onEvent: @Sendable (WalletIncident) -> Void
        /// The time of pauses and timers.
        package var time = PassingTime()

        package init(
            rules: ServiceRules,
            clock: any WallClock,
            store: any WalletStore,
            lease: (any ServerLease)? = nil,
            vault: any Vault,
            attestations: EvidenceVerifier,
            statusList: StatusListFile? = nil,
            audit: AuditLog,
            log: Logger,
            receiptKeys: @escaping @Sendable (_ version: UInt32?) -> [ReceiptKeyLink]? = { _ in [] },
            metrics: any MetricsFactory = NOOPMetricsHandler.instance,
            onEvent: @escaping @Sendable (WalletIncident) -> Void = { _ in }
        ) {
            self.rules = rules
            self.clock = clock
            self.store = store
            self.lease = lease
            self.vault = vault
            self.attestations = attestations
            self.statusList = statusList
            self.audit = audit
            self.log = log
            self.receiptKeys = receiptKeys
            self.metrics = metrics
            self.onEvent = onEvent
        }
    }

    package let state: ServerState
    package let log: Logger
    private let connections = Atomic<UInt64>(0)

    /// Creates a server and reads the flags and update policies set by operators.
    package init(_ parts: Parts) async throws(StoreError) {
        let policy = parts.attestations.policy
        let appID = policy.apple.apps.first?.id ?? policy.android.apps?.first?.package ?? "none"
        let controls = try await OperatorControls(store: parts.store, settings: parts.rules.updates)
        self.log = parts.log
        self.state = ServerState(parts, appID: appID, controls: controls)
    }

    /// Serves a connection from its first call to its last.
    ///
    /// This function has few variables, because the task of an idle connection keeps the memory for them.
    package func serve(_ connection: ServerConnection) async {
        let conversation = self.conversation(on: connection)
        await conversation.open()
        await conversation.run()
        self.state.statistics.openConnections.subtract(1, ordering: .relaxed)
        self.state.limits.sources.disconnect(connection.source, at: self.state.clock.now())
    }

    /// Counts a new connection and creates its conversation.
    private func conversation(on connection: ServerConnection) -> ServedConversation {
        let id = self.connections.add(1, ordering: .relaxed).newValue
        let (state, activity) = (self.state, CallActivity())
        state.statistics.calls.handshakes.increment()
        state.statistics.openConnections.add(1, ordering: .relaxed)
        let conversation = Conversation(
            server: state,
            connection: connection,
            handle: ConnectionHandle(
                id: id,
                abort: { connection.abort() },
                allowDisplacement: { connection.allowDisplacement() },
                closed: { await connection.closed() },
                isIdle: { await Self.isIdle(connection, activity, time: state.time) }
            ),
            activity: activity,
            channelBinding: connection.channelBinding,
            account: state.limits.sources.connect(connection.source),
            calledAt: state.clock.now(),
            log: CallLog(self.log, of: connection, id: id)
        )
        return ServedConversation(conversation)
    }

    /// The number of times to check whether answers were delivered.
    ///
    /// Together, the checks take one second.
    private static let deliveryPolls = 50
    private static let deliveryPollInterval: Duration = .milliseconds(20)

    private static func isIdle(
        _ connection: ServerConnection,
        _ activity: CallActivity,
        time: PassingTime
    ) async -> Bool {
        for _ in 0..<Self.deliveryPolls {
            if activity.isBusy { return false }
            // Every answer was sent before its call ended, and therefore before this check.
            if await connection.hasDelivered() { return true }
            try? await time.sleep(for: Self.deliveryPollInterval)
        }
        return false
    }
}

extension RemotePINServer {
    /// Serves all connections of a listener until graceful shutdown or cancellation; returns once all of them have
    /// ended.
    package func serve(_ listener: RPCListener) async {
        await withGracefulShutdownHandler {
            await listener.serve { await self.serve($0) }
        } onGracefulShutdown: {
            // Set before the listener stops, so that conversations announce the shutdown when their connections are
            // stopped.
            self.state.isStopping.store(true, ordering: .sequentiallyConsistent)
            listener.stop()
        }
    }
}

extension RemotePINServer {
    /// The interval at which the timers are checked, in real time.
    ///
    /// It does not affect what a wallet is allowed to do.
    private static let interval: Duration = .seconds(5)

    /// Runs every timer that is due, for example to end sessions and to remove registrations without a session.
    ///
    /// Calls reject sessions and registrations from the moment they expire, so the timers only clean up.
    package func runDueTimers() async {
        let now = self.state.clock.now()
        self.state.devices.attestations.refresh(at: now, log: self.log)
        let ended = self.state.registry.endSessions(dueAt: now)
        if ended > 0 { self.log.info("sessions ended", metadata: ["count": "\(ended)"]) }
        self.state.limits.recordSources()
        await self.write(self.state.lastSessions.takeDue(at: now))
        await self.state.permanentBlocks.recordMissing(log: self.log)
        self.logRoot(at: now)
        await self.refreshControls()
        // One of several servers is enough.
        guard self.state.lease?.hasMaintenance ?? true else { return }
        let limit = now + (.zero - self.state.terms.rules.unopenedLifetime)
        do throws(StoreError) {
            let removed = try await self.state.store.sweep(unopenedSince: limit)
            if removed > 0 { self.log.info("unopened registrations removed", metadata: ["count": "\(removed)"]) }
        } catch {
            self.log.warning("unopened registrations were not removed", metadata: ["reason": "\(error)"])
        }
    }

    /// The interval at which receipt roots are written to the server's log.
    private static let rootInterval: Duration = .seconds(3600)

    /// Writes the newest signed receipt root to the server's log every hour, and on shutdown if it is new.
    ///
    /// Like audit log marks, the root is written regardless of the log level. If the store is later replaced with an
    /// older one, a copy of the server's log on another machine reveals that.
    private func logRoot(at now: Timestamp, isLast: Bool = false) {
        guard let root = self.state.store.newestRoot else { return }
        let isDue = self.state.loggedRoot.withLock { logged in
            guard logged?.root != root, isLast || logged.map({ now >= $0.at + Self.rootInterval }) ?? true else {
                return false
            }
            logged = (at: now, root: root)
            return true
        }
        guard isDue else { return }
        var stream = self.log
        stream.logLevel = .notice
        stream.notice("receipts", metadata: ["epoch": "\(root.epoch)", "signedRoot": "\(root.encoded().hex)"])
    }

    /// Writes the times of last sessions to the store.
    private func write(_ sessions: [WalletID: Timestamp]) async {
        do throws(StoreError) {
            try await self.state.store.keepLastSessions(sessions)
            self.state.lastSessions.confirm(sessions)
        } catch {
            self.state.lastSessions.putBack(sessions)
            self.log.debug("the times of last sessions were not written", metadata: ["reason": "\(error)"])
        }
    }

    /// Rereads the flags and update policies, because operators may have set them through another server on the same
    /// store.
    private func refreshControls() async {
        do throws(StoreError) {
            try await self.state.terms.controls.refresh()
        } catch {
            // The store logs the reason for which it is unavailable, and this line would only hide it.
            let level: Logger.Level = error == .unavailable ? .debug : .warning
            self.log.log(level: level, "flags and update policy were not read again", metadata: ["reason": "\(error)"])
        }
    }

    /// Rereads the status list, whether or not it has changed, and the flags and update policies; returns the result
    /// for each part.
    package func reload() async -> [ReloadedPart] {
        var parts: [ReloadedPart] = []
        if self.state.devices.attestations.hasFile {
            let problem = self.state.devices.attestations.refresh(
                at: self.state.clock.now(),
                forced: true,
                log: self.log
            )
            parts.append(ReloadedPart("status list", problem: problem.map { "\($0)" }))
        }
        var problem: String?
        do throws(StoreError) {
            try await self.state.terms.controls.refresh()
        } catch {
            problem = "the store did not give them"
            self.log.error("the old flags and update policy stay", metadata: ["reason": "\(error)"])
        }
        return parts + [ReloadedPart("flags and update policy", problem: problem)]
    }

    /// Runs the timers until graceful shutdown or cancellation.
    package func runTimers() async {
        // Blocks from an earlier process are recorded at start and not after the first interval.
        await self.state.permanentBlocks.recordMissing(log: self.log)
        await cancelWhenGracefulShutdown {
            while (try? await self.state.time.sleep(for: Self.interval)) != nil { await self.runDueTimers() }
        }
        await self.write(self.state.lastSessions.takeAll())  // rule: server-last-sessions-lost-at-end
        await self.state.permanentBlocks.recordMissing(log: self.log)
        self.logRoot(at: self.state.clock.now(), isLast: true)
    }
}

/// The result of reloading part of the server's configuration or data.
package struct ReloadedPart: Codable, Hashable, Sendable {
    /// The name of the part, for example `certificate`.
    package let name: String
    /// Whether the new version took effect.
    ///
    /// If not, the old one stays in use.
    package let reloaded: Bool
    /// The reason the old version stays in use, or nil if the new one took effect.
    package let reason: String?
    /// The changes in the new version, if known.
    package let note: String?

    /// - Parameter problem: The reason the old version stays in use, or nil if the new one took effect.
    package init(_ name: String, problem: String? = nil, note: String? = nil) {
        self.name = name
        self.reloaded = problem == nil
        self.reason = problem
        self.note = note
    }
}

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
    package func app(in identity: LayeredIdentity) -> RegisteredApp? {
        IdentityRecord(identity.facts).map {
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

/// Server figures that are read on each scrape instead of being counted as metrics.
package struct ServerFigures: Sendable {
    /// The number of connections that have completed their handshake.
    package var connections = 0
    package var sessions = 0
    /// The number of verdicts since the start.
    package var validPINs = 0
    package var wrongPINs = 0
    /// The number of PINs not judged because of a temporary block.
    package var blockedPINs = 0
    /// The number of PINs not judged because of the permanent block.
    package var permanentlyBlockedPINs = 0
    /// The time at which the current status list was fetched, or nil if no list is in use.
    package var statusListFetched: Timestamp?
    /// The time at which the list becomes stale, or nil if its age does not matter.
    package var statusListExpiry: Timestamp?
    /// The number of the newest audit entry.
    package var auditEntries: UInt64 = 0
}

extension RemotePINServer {
    /// The current figures, which can be read from any thread.
    package var figures: ServerFigures {
        let pins = self.state.statistics.pinOutcomes.counts
        let statusList = self.state.devices.attestations.statusListTimes
        return ServerFigures(
            connections: self.state.statistics.openConnections.load(ordering: .relaxed),
            sessions: self.state.registry.sessionCount,
            validPINs: pins.valid,
            wrongPINs: pins.wrong,
            blockedPINs: pins.blocked,
            permanentlyBlockedPINs: pins.permanentlyBlocked,
            statusListFetched: statusList.fetched,
            statusListExpiry: statusList.expiry,
            auditEntries: self.state.revocations.audit.newest.number
        )
    }
}
