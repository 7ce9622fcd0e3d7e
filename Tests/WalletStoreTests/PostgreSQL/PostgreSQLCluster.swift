import PostgreSQLClient
import PostgreSQLStore
import Synchronization
import TestSupport
import WalletStore

/// A PostgreSQL server for the tests of this process.
///
/// The server waits for a standby that does not exist, unless a session says `synchronous_commit = local`, which is the
/// default of every database. So a test can make a commit wait for as long as it wants.
final class PostgreSQLCluster: Sendable {
    /// Nil if the server cannot be started.
    static let shared = try? PostgreSQLCluster()

    static let longest: Duration = .seconds(60)

    private let server: TemporaryPostgreSQL
    private let databases = Mutex(0)

    /// Starts another server, for a test that changes settings of the whole server.
    ///
    /// It has no autovacuum, whose commits would wait for the absent standby for ever, with their locks.
    init() throws {
        self.server = try TemporaryPostgreSQL(settings: [
            "max_connections = 300", "synchronous_standby_names = 'absent'", "synchronous_commit = local",
            "autovacuum = off",
        ])
    }

    /// The folder of the server's socket.
    var folder: String { self.server.folder }

    /// A connection for a test's statements.
    func connect(to database: String = "postgres") throws -> PostgreSQLConnection {
        try PostgreSQLConnection(to: self.target(database), within: Self.longest)
    }

    func target(_ database: String, as name: String = "test") -> PostgreSQLTarget {
        PostgreSQLTarget(address: "host=\(self.server.folder) user=test dbname=\(database)", applicationName: name)
    }

    /// Creates an empty database and returns its name.
    func database(with options: String = "") throws -> String {
        let number = self.databases.withLock { number in
            number += 1
            return number
        }
        let name = "test\(number)"
        let connection = try self.connect()
        _ = try connection.run("create database \(name) template template0 \(options)", within: Self.longest)
        return name
    }
}

/// A database with a store, for one test.
struct PostgreSQLPlace: Sendable {
    struct NoServer: Error {}

    let cluster: PostgreSQLCluster
    let database: String

    /// Creates the store.
    init(in cluster: PostgreSQLCluster? = .shared, with options: String = "") async throws {
        guard let cluster else { throw NoServer() }
        self.cluster = cluster
        self.database = try cluster.database(with: options)
        try await PostgreSQLWalletStore.create(self.parts())
    }

    func parts(
        _ durability: Durability = .local,
        limit: Duration = PostgreSQLCluster.longest,
        as name: String = "test"
    ) -> StoreParts {
        StoreParts(
            target: self.cluster.target(self.database, as: name),
            server: name,
            key: .test,
            durability: durability,
            timeLimit: limit
        )
    }

    func open(by key: RecordKey = .test) async throws -> PostgreSQLWalletStore {
        var parts = self.parts()
        parts.key = key
        return try await .open(parts)
    }

    /// Ends all connections of a server.
    func disconnect(_ server: String, by connection: PostgreSQLConnection) throws {
        try connection.run(
            """
            select pg_terminate_backend(pid, 60000) from pg_stat_activity
            where datname = $1 and application_name = $2
            """,
            [.text(self.database), .text(server)]
        )
    }

    /// Adds the lease of a server that was killed.
    func addLease(
        ofKilled server: String,
        lasting duration: Duration = .seconds(6),
        by connection: PostgreSQLConnection
    ) throws {
        try connection.run(
            """
            insert into leases (server, instance, program, schema_version, vault_keys, lasts_ms, renewed_at)
            values ($1, 'killed', '', 2, '', $2, (extract(epoch from clock_timestamp()) * 1000)::bigint)
            """,
            [.text(server), .number(Int64(duration / .milliseconds(1)))]
        )
    }

    /// A connection of the test itself, in the store's schema.
    func connect() throws -> PostgreSQLConnection {
        let connection = try self.cluster.connect(to: self.database)
        _ = try connection.run("set search_path = remote_pin", within: PostgreSQLCluster.longest)
        return connection
    }
}

/// The reasons for which servers refused steps or renewals.
final class Reasons: Sendable {
    private let values = Mutex<[String]>([])

    var receive: @Sendable (String) -> Void { { reason in self.values.withLock { $0.append(reason) } } }

    func contain(_ part: String) -> Bool { self.values.withLock { $0.contains { $0.contains(part) } } }
}

extension PostgreSQLConnection {
    /// Runs a statement with a limit that no test reaches.
    @discardableResult
    func run(_ statement: String, _ values: [PostgreSQLValue] = []) throws -> PostgreSQLRows {
        try self.run(statement, values, within: PostgreSQLCluster.longest)
    }
}
