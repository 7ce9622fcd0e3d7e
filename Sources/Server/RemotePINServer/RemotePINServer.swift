public import AttestationVerifier
public import AuditLog
public import Logging
public import Metrics
internal import ServiceLifecycle
internal import Synchronization
public import Transport
public import Vault
public import Vocabulary
public import WalletStore

/// The server: takes connections and has their calls done with the parts that it was given.
///
/// It holds no rule of its own; what it owns is what all connections share, and the timers.
public final class RemotePINServer: Sendable {
    /// What a server is made of.
    public struct Parts: Sendable {
        public var rules: ServiceRules
        public var clock: any WallClock
        public var store: any WalletStore
        public var vault: any Vault
        public var attestations: EvidenceVerifier
        /// Where the verifier's status list comes from, when it may change; nil leaves the verifier as it is.
        public var statusList: StatusListFile?
        /// Where every command and every revocation is on record.
        public var audit: AuditLog
        public var log: Logger
        /// Where calls are counted.
        public var metrics: any MetricsFactory
        /// Told of what happens to wallets once it is committed; must not wait.
        public var onEvent: @Sendable (WalletIncident) -> Void

        public init(
            rules: ServiceRules,
            clock: any WallClock,
            store: any WalletStore,
            vault: any Vault,
            attestations: EvidenceVerifier,
            statusList: StatusListFile? = nil,
            audit: AuditLog,
            log: Logger,
            metrics: any MetricsFactory = NOOPMetricsHandler.instance,
            onEvent: @escaping @Sendable (WalletIncident) -> Void = { _ in }
        ) {
            self.rules = rules
            self.clock = clock
            self.store = store
            self.vault = vault
            self.attestations = attestations
            self.statusList = statusList
            self.audit = audit
            self.log = log
            self.metrics = metrics
            self.onEvent = onEvent
        }
    }

    let services: Services
    let log: Logger
    private let connections = Atomic<UInt64>(0)

    /// Joins the parts; asks the vault once, so that one that does not work is found before the first wallet, and the
    /// store for what operators have set.
    public init(_ parts: Parts) async throws(ServerStartError) {
        let policy = parts.attestations.policy
        let appID = policy.apple.appIDs.first ?? policy.android.apps?.first?.package ?? "none"
        let decoy: Decoy
        do throws(VaultError) { decoy = try await Decoy(appID: appID, vault: parts.vault) } catch {
            throw .vault(error)
        }
        let controls: OperatorControls
        do throws(StoreError) {
            controls = try await OperatorControls(store: parts.store, settings: parts.rules.updates)
        } catch {
            throw .store(error)
        }
        self.log = parts.log
        self.services = Services(
            rules: parts.rules,
            clock: parts.clock,
            store: parts.store,
            vault: parts.vault,
            attestations: Attestations(parts.attestations, statusList: parts.statusList),
            decoy: decoy,
            controls: controls,
            audit: parts.audit,
            metrics: parts.metrics,
            onEvent: parts.onEvent
        )
    }

    /// Serves one connection from its first call to its last.
    public func serve(_ connection: ServerConnection) async {
        let id = self.connections.add(1, ordering: .relaxed).newValue
        var log = self.log
        log[metadataKey: "connection"] = "\(id)"
        log[metadataKey: "peer"] = "\(connection.peer)"
        let turn = Turn()
        let account = self.services.sources.connect(connection.source)
        defer { self.services.sources.disconnect(connection.source, at: self.services.clock.now()) }
        let start = Conversation(
            services: self.services,
            connection: connection,
            live: LiveConnection(
                id: id,
                abort: { connection.abort() },
                close: { connection.close() },
                closed: { await connection.closed() },
                isAtRest: { await Self.isAtRest(connection, turn) }
            ),
            turn: turn,
            channelBinding: connection.channelBinding,
            signatures: self.services.signatureLines.line(of: connection.eventLoopID),
            account: account,
            calledAt: self.services.clock.now(),
            log: CallLog(log)
        )
        self.services.meters.handshakes.increment()
        self.services.openConnections.add(1, ordering: .relaxed)
        var conversation = await start.opened()
        await conversation.run()
        self.services.openConnections.subtract(1, ordering: .relaxed)
    }

    /// How often, and how far apart, it is asked whether answers have arrived: a second in all.
    private static let looksAtDelivery = 50
    private static let lookInterval: Duration = .milliseconds(20)

    private static func isAtRest(_ connection: ServerConnection, _ turn: Turn) async -> Bool {
        for _ in 0..<Self.looksAtDelivery {
            if turn.isBusy { return false }
            // What was answered before this turn's end was sent before this question.
            if await connection.hasDelivered() { return true }
            try? await Task.sleep(for: Self.lookInterval)
        }
        return false
    }
}

/// Why a server did not start.
public enum ServerStartError: Error, Hashable, Sendable {
    /// The vault does not open what it sealed, or cannot be reached: look at its key.
    case vault(VaultError)
    /// What operators have set cannot be read: look at the store.
    case store(StoreError)
}

extension RemotePINServer {
    /// Serves all connections of a listener until graceful shutdown or cancellation; returns when all have ended.
    public func serve(_ listener: RPCListener) async {
        await withGracefulShutdownHandler {
            await listener.serve { await self.serve($0) }
        } onGracefulShutdown: {
            // First the mark: whoever finds the connection stopped says why.
            self.services.isStopping.store(true, ordering: .sequentiallyConsistent)
            listener.stop()
        }
    }
}
