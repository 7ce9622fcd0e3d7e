package import AttestationVerifier
package import AuditLog
package import Logging
package import Metrics
internal import ServiceLifecycle
internal import Synchronization
package import Transport
package import Vault
package import Vocabulary
package import WalletStore

/// The server: takes connections and has their calls done with the parts that it was given.
///
/// It holds no rule of its own; what it owns is what all connections share, and the timers.
package final class RemotePINServer: Sendable {
    /// What a server is made of.
    package struct Parts: Sendable {
        package var rules: ServiceRules
        package var clock: any WallClock
        package var store: any WalletStore
        package var vault: any Vault
        package var attestations: EvidenceVerifier
        /// Where the verifier's status list comes from, when it may change; nil leaves the verifier as it is.
        package var statusList: StatusListFile?
        /// Where every command and every revocation is on record.
        package var audit: AuditLog
        package var log: Logger
        /// Where calls are counted.
        package var metrics: any MetricsFactory
        /// Told of what happens to wallets once it is committed; must not wait.
        package var onEvent: @Sendable (WalletIncident) -> Void

        package init(
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
    package init(_ parts: Parts) async throws(ServerStartError) {
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
    package func serve(_ connection: ServerConnection) async {
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
package enum ServerStartError: Error, Hashable, Sendable {
    /// The vault does not open what it sealed, or cannot be reached: look at its key.
    case vault(VaultError)
    /// What operators have set cannot be read: look at the store.
    case store(StoreError)
}

extension RemotePINServer {
    /// Serves all connections of a listener until graceful shutdown or cancellation; returns when all have ended.
    package func serve(_ listener: RPCListener) async {
        await withGracefulShutdownHandler {
            await listener.serve { await self.serve($0) }
        } onGracefulShutdown: {
            // First the mark: whoever finds the connection stopped says why.
            self.services.isStopping.store(true, ordering: .sequentiallyConsistent)
            listener.stop()
        }
    }
}
