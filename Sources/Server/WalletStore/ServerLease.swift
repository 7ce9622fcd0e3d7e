package import Vocabulary

/// The lease under which one of several servers serves a store.
///
/// Each server renews its lease about every second. A revocation is complete once every server with a lease has
/// acknowledged it, or its lease has ended.
///
/// Invariant (G7): a server without a lease releases nothing, so a revocation does not wait for it.
package protocol ServerLease: AnyObject, Sendable {
    /// This server's name.
    var server: String { get }

    /// Whether this server may release wallets' data at this moment; called right before each such answer is sent.
    var isHeld: Bool { get }

    /// The time since the last renewal.
    var age: Duration { get }

    /// The last difference between the database's clock and the time that this server expected.
    var clockDifference: Duration { get }

    /// The servers with a lease at the last renewal, in the order of their names.
    var servers: [LeasedServer] { get }

    /// Whether purges, sweeps and resealing are this server's task.
    var hasMaintenance: Bool { get }

    /// The clock of all servers of the store.
    var clock: any WallClock { get }

    /// Sets the functions that serve the lease from now on.
    ///
    /// - Parameters:
    ///   - settle: Returns once no data of these wallets is in flight to a client, or of any wallet if it is given nil.
    ///   - load: Returns the numbers of open connections and sessions, for operators.
    func serve(
        settle: @escaping @Sendable (_ wallets: [WalletID]?) async -> Void,
        load: @escaping @Sendable () -> (connections: Int, sessions: Int)
    )

    /// Returns once every server has acknowledged every revocation that was committed before this call, or has no lease
    /// any longer.
    ///
    /// - Throws: `unavailable` if the database does not answer; the revocation stands, and may be repeated.
    func acknowledgements() async throws(StoreError) -> Acknowledgements
}

extension ServerLease {
    /// Returns the names of the other servers that lack a version of the vault's keys.
    package func servers(lacking key: String) -> [String] {
        self.servers.filter { $0.name != self.server && !$0.vaultKeys.contains(key) }.map(\.name)
    }
}

/// A server with a lease.
package struct LeasedServer: Hashable, Sendable, Codable {
    package var name: String
    /// Unique for each start of a server.
    package var instance: String
    /// The version of the program.
    package var program: String
    package var schemaVersion: Int64
    /// The versions of the vault's keys that the server has, each with the check value of its key.
    package var vaultKeys: [String]
    package var connections: Int
    package var sessions: Int
    /// Whether the server purges, sweeps and reseals for all.
    package var hasMaintenance: Bool

    package init(
        name: String,
        instance: String,
        program: String,
        schemaVersion: Int64,
        vaultKeys: [String],
        connections: Int,
        sessions: Int,
        hasMaintenance: Bool = false
    ) {
        self.name = name
        self.instance = instance
        self.program = program
        self.schemaVersion = schemaVersion
        self.vaultKeys = vaultKeys
        self.connections = connections
        self.sessions = sessions
        self.hasMaintenance = hasMaintenance
    }
}

/// The servers for which a revocation waited, by name.
package struct Acknowledgements: Hashable, Sendable, Codable {
    /// The servers that have closed or settled their connections of the revoked wallets.
    package var acknowledged: [String]
    /// The servers whose lease ended meanwhile, so that they release nothing.
    package var ended: [String]

    package init(acknowledged: [String] = [], ended: [String] = []) {
        self.acknowledged = acknowledged
        self.ended = ended
    }
}
