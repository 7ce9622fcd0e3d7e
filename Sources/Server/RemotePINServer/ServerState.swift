internal import AttestationVerifier
internal import Metrics
internal import Synchronization
package import Vault
package import Vocabulary
package import WalletStore

/// The parts of the server shared by all conversations.
///
/// Each part owns its state. This is a class, so that a call carries one reference instead of a dozen.
package final class ServerState: Sendable {
    package let clock: any WallClock
    package let store: any WalletStore
    package let vault: CountedVault
    package let terms: ServiceTerms
    let devices: DeviceVerifier
    let registry: ConnectionRegistry
    /// This server's lease, if several servers may use the store.
    let lease: (any ServerLease)?
    let revocations: Revocations
    let permanentBlocks: PermanentBlocks
    let limits: RateLimits
    let lastSessions = LastSessions()
    /// Returns the receipt keys up to a version of the vault's keys, the last of which wallets pin, or nil if the
    /// vault lacks that version.
    let receiptKeys: @Sendable (_ version: UInt32?) -> [ReceiptKeyLink]?
    /// The last receipt root that was logged, and the time at which it was logged.
    let loggedRoot = Mutex<(at: Timestamp, root: SignedRoot)?>(nil)
    let statistics: ServerStatistics
    /// Called with each committed wallet incident.
    ///
    /// Does not block.
    package let onEvent: @Sendable (WalletIncident) -> Void
    let time: PassingTime
    /// Set once, before the connections are stopped, so that clients are asked to reconnect later.
    let isStopping = Atomic<Bool>(false)

    /// - Parameter appID: An app whose wallets are served, for the decoy.
    init(_ parts: RemotePINServer.Parts, appID: String, controls: OperatorControls) {
        self.clock = parts.clock
        self.store = parts.store
        self.vault = CountedVault(parts.vault, metrics: parts.metrics)
        self.time = parts.time
        self.terms = ServiceTerms(rules: parts.rules, controls: controls)
        self.devices = DeviceVerifier(
            attestations: Attestations(parts.attestations, statusList: parts.statusList),
            decoy: Decoy(appID: appID, vault: self.vault),
            extensions: ExtensionNotices(log: parts.log)
        )
        let meters = RevocationMeters(parts.metrics)
        let notify = parts.onEvent
        let onEvent: @Sendable (WalletIncident) -> Void = { incident in
            meters.note(incident)
            notify(incident)
        }
        self.onEvent = onEvent
        self.receiptKeys = parts.receiptKeys
        self.registry = ConnectionRegistry()
        self.lease = parts.lease
        self.revocations = Revocations(
            store: parts.store,
            audit: parts.audit,
            registry: self.registry,
            lease: parts.lease,
            onEvent: onEvent
        )
        self.permanentBlocks = PermanentBlocks(store: parts.store, audit: parts.audit)
        self.limits = RateLimits(parts.rules.sources, metrics: parts.metrics)
        self.statistics = ServerStatistics(metrics: parts.metrics)
        parts.lease?.serve { [registry = self.registry] wallets in
            if let wallets { await registry.abortAll(of: wallets) } else { await registry.settleAll() }
        } load: { [registry = self.registry, statistics = self.statistics] in
            (connections: statistics.openConnections.load(ordering: .relaxed), sessions: registry.sessionCount)
        }
    }
}

extension ServerState {
    /// Returns the receipt keys for an answer to a step in which the store named this version.
    func receiptKeys(upTo version: UInt32?) throws(CallFailure) -> [ReceiptKeyLink] {
        guard let keys = self.receiptKeys(version) else { throw .vault(.unreachable) }
        return keys
    }
}

/// Verifies evidence in registrations, and device proofs.
struct DeviceVerifier: Sendable {
    let attestations: Attestations
    let proofs: DeviceProofs
    /// The stand-in for wallets that do not exist.
    let decoy: Decoy
    let extensions: ExtensionNotices

    init(attestations: Attestations, decoy: Decoy, extensions: ExtensionNotices) {
        self.attestations = attestations
        self.proofs = DeviceProofs(decoy: decoy.record) { extensions.note($0) }
        self.decoy = decoy
        self.extensions = extensions
    }
}

/// The counters for a server process, for operators and metrics.
final class ServerStatistics: Sendable {
    /// The time at which the process started, on a clock that no setting can move.
    let start = ContinuousClock.now
    let openConnections = Atomic<Int>(0)
    let pinOutcomes = PINOutcomes()
    let calls: CallMeters

    init(metrics: any MetricsFactory) {
        self.calls = CallMeters(metrics)
    }
}

/// The time that passes, which does not depend on a wall clock; a simulator replaces it.
package struct PassingTime: Sendable {
    package var now: @Sendable () -> ContinuousClock.Instant = { .now }
    /// Waits; throws if the task is cancelled.
    package var sleepUntil: @Sendable (ContinuousClock.Instant) async throws -> Void = {
        try await Task.sleep(until: $0)
    }

    package init() {}

    /// Waits; throws if the task is cancelled.
    func sleep(for duration: Duration) async throws { try await self.sleepUntil(self.now() + duration) }
}
