package import AttestationVerifier
package import AuditLog
internal import HostSystem
package import Logging
package import Metrics
internal import ServiceLifecycle
internal import Synchronization
package import Transport
package import Vault
package import Vocabulary
package import WalletStore

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
        /// The factory used to create the call counters.
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
    ///
    /// It uses the vault once, so that a broken vault is detected before the first wallet connects.
    package init(_ parts: Parts) async throws(ServerStartError) {
        let policy = parts.attestations.policy
        let appID = policy.apple.apps.first?.id ?? policy.android.apps?.first?.package ?? "none"
        let (decoy, controls): (Decoy, OperatorControls)
        do throws(VaultError) { decoy = try await Decoy(appID: appID, vault: parts.vault) } catch {
            throw .vault(error)
        }
        do throws(StoreError) {
            controls = try await OperatorControls(store: parts.store, settings: parts.rules.updates)
        } catch {
            throw .store(error)
        }
        self.log = parts.log
        self.state = ServerState(parts, decoy: decoy, controls: controls)
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

/// A reason why a server failed to start.
package enum ServerStartError: Error, Hashable, Sendable {
    /// The vault cannot open its own test value or cannot be reached.
    ///
    /// Check its key.
    case vault(VaultError)
    /// The flags and update policies cannot be read.
    ///
    /// Check the store.
    case store(StoreError)
}

extension RemotePINServer {
    /// Serves all connections of a listener until graceful shutdown or cancellation.
    ///
    /// Returns once all of them have ended.
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
