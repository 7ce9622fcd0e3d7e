import Foundation
import PostgreSQLClient
import PostgreSQLStore
import Synchronization
import WalletStore

/// A PostgreSQL server for the tests of this process, reachable only through a socket in a temporary folder.
///
/// A shell starts it as an unprivileged user, since PostgreSQL rejects root. The shell reads from a pipe that only this
/// process holds, so the server and its folder are gone when this process ends, however it does.
///
/// The server waits for a standby that does not exist, unless a session says `synchronous_commit = local`, which is the
/// default of every database. So a test can make a commit wait for as long as it wants.
///
/// Unchecked because Foundation's process and file handle are not declared `Sendable`; nothing uses them after the
/// initializer.
final class PostgreSQLCluster: @unchecked Sendable {
    /// Nil if the server cannot be started.
    static let shared = PostgreSQLCluster()

    static let longest: Duration = .seconds(60)

    private let folder: String
    private let shell: Process
    /// Ends the server once it is closed.
    private let lifeline: FileHandle
    private let databases = Mutex(0)

    private static let script = """
        set -e
        folder=$1
        bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
        as=
        if [ "$(id -u)" = 0 ]; then
            user=postgres
            id $user >/dev/null 2>&1 || user=nobody
            chown $user "$folder"
            as="setpriv --reuid=$user --regid=$(id -g $user) --clear-groups"
        fi
        cd "$folder"
        trap '' INT TERM HUP
        $as "$bin/initdb" -D "$folder/data" -A trust -U test -E UTF8 --no-locale --no-sync >initdb.log 2>&1
        cat >>"$folder/data/postgresql.conf" <<SETTINGS
        listen_addresses = ''
        unix_socket_directories = '$folder'
        shared_buffers = 16MB
        max_connections = 300
        synchronous_standby_names = 'absent'
        synchronous_commit = local
        log_min_messages = fatal
        SETTINGS
        $as "$bin/pg_ctl" start -w -s -D "$folder/data" -l "$folder/data/log" </dev/null >&2
        echo ready
        cat >/dev/null
        $as "$bin/pg_ctl" stop -s -m immediate -D "$folder/data" || true
        rm -rf "$folder"
        """

    private init?() {
        self.folder = "/tmp/remote-pin-postgresql-\(UInt32.random(in: .min ... .max))"
        let (input, output) = (Pipe(), Pipe())
        self.shell = Process()
        self.shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        self.shell.arguments = ["-c", Self.script, "sh", self.folder]
        self.shell.standardInput = input
        self.shell.standardOutput = output
        self.lifeline = input.fileHandleForWriting
        do {
            try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: false)
            try self.shell.run()
        } catch {
            return nil
        }
        // Empty if the script failed.
        guard !output.fileHandleForReading.availableData.isEmpty else { return nil }
    }

    /// A connection for a test's statements.
    func connect(to database: String = "postgres") throws -> PostgreSQLConnection {
        try PostgreSQLConnection(to: self.target(database), within: Self.longest)
    }

    func target(_ database: String, as name: String = "test") -> PostgreSQLTarget {
        PostgreSQLTarget(address: "host=\(self.folder) user=test dbname=\(database)", applicationName: name)
    }

    /// Creates an empty database and returns its name.
    func database() throws -> String {
        let number = self.databases.withLock { number in
            number += 1
            return number
        }
        let name = "test\(number)"
        let connection = try self.connect()
        _ = try connection.run("create database \(name) template template0", within: Self.longest)
        return name
    }
}

/// A database with a store, for one test.
struct PostgreSQLPlace: Sendable {
    struct NoServer: Error {}

    let cluster: PostgreSQLCluster
    let database: String

    /// Creates the store.
    init() async throws {
        guard let cluster = PostgreSQLCluster.shared else { throw NoServer() }
        self.cluster = cluster
        self.database = try cluster.database()
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

    func open() async throws -> PostgreSQLWalletStore {
        try await .open(self.parts())
    }

    /// A connection of the test itself, in the store's schema.
    func connect() throws -> PostgreSQLConnection {
        let connection = try self.cluster.connect(to: self.database)
        _ = try connection.run("set search_path = remote_pin", within: PostgreSQLCluster.longest)
        return connection
    }
}

extension PostgreSQLConnection {
    /// Runs a statement with a limit that no test reaches.
    @discardableResult
    func run(_ statement: String, _ values: [PostgreSQLValue] = []) throws -> PostgreSQLRows {
        try self.run(statement, values, within: PostgreSQLCluster.longest)
    }
}
