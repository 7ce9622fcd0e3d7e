public import AttestationVerifier
public import Logging
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
        public var log: Logger

        public init(
            rules: ServiceRules,
            clock: any WallClock,
            store: any WalletStore,
            vault: any Vault,
            attestations: EvidenceVerifier,
            statusList: StatusListFile? = nil,
            log: Logger
        ) {
            self.rules = rules
            self.clock = clock
            self.store = store
            self.vault = vault
            self.attestations = attestations
            self.statusList = statusList
            self.log = log
        }
    }

    let services: Services
    let log: Logger
    private let connections = Atomic<UInt64>(0)

    /// Joins the parts; asks the vault once, so that one that does not work is found before the first wallet.
    public init(_ parts: Parts) async throws(VaultError) {
        let policy = parts.attestations.policy
        let appID = policy.apple.appIDs.first ?? policy.android.apps?.first?.package ?? "none"
        let decoy = try await Decoy(appID: appID, vault: parts.vault)
        self.log = parts.log
        self.services = Services(
            rules: parts.rules,
            clock: parts.clock,
            store: parts.store,
            vault: parts.vault,
            attestations: Attestations(parts.attestations, statusList: parts.statusList),
            decoy: decoy
        )
    }

    /// Serves one connection from its first call to its last.
    public func serve(_ connection: ServerConnection) async {
        let id = self.connections.add(1, ordering: .relaxed).newValue
        var log = self.log
        log[metadataKey: "connection"] = "\(id)"
        log[metadataKey: "peer"] = "\(connection.peer)"
        var conversation = Conversation(
            services: self.services,
            connection: connection,
            live: LiveConnection(
                id: id,
                abort: { connection.abort() },
                close: { connection.close() },
                closed: { await connection.closed() }
            ),
            channelBinding: connection.channelBinding,
            source: connection.source,
            log: log
        )
        await conversation.run()
    }
}

extension RemotePINServer {
    /// Serves all connections of a listener until graceful shutdown or cancellation; returns when all have ended.
    public func serve(_ listener: RPCListener) async {
        await withGracefulShutdownHandler {
            await listener.serve { await self.serve($0) }
        } onGracefulShutdown: {
            listener.stop()
        }
    }
}
