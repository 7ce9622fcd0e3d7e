internal import SQLiteClient

/// The tables, and the migrations from earlier versions.
///
/// A released version is never edited, except for comments between its statements: a file stores each statement, and
/// the stored statements are compared with these. Every change is a new migration. Migrations cannot be reversed, so a
/// file written by a newer version is refused instead of being read under assumptions.
struct Schema: Sendable {
    /// The `PRAGMA application_id` that identifies the file as a wallet store: "rPIN".
    static let applicationID: Int64 = 0x7250_494E
    /// The `PRAGMA application_id` that identifies the file as a backup, which must not be served: "rPIB".
    static let backupID: Int64 = 0x7250_4942
    /// The `PRAGMA application_id` of a store that was copied into a shared database and must not be served: "rPIM".
    static let movedID: Int64 = 0x7250_494D

    /// The schema that this program reads and writes.
    static let current = Schema(migrations: [Schema.creation])

    /// The statements of version 1.
    private static let creation = """
        CREATE TABLE wallets (
            key INTEGER PRIMARY KEY,
            state BLOB NOT NULL,
            pin_key_id BLOB NOT NULL,
            unlock_share BLOB NOT NULL,
            identity BLOB NOT NULL,
            presence_share BLOB NOT NULL,
            deletion_code BLOB NOT NULL,
            recovery_mac BLOB NOT NULL,
            hardware_key BLOB NOT NULL,
            id BLOB NOT NULL,
            deletion_digest BLOB,
            registered_at INTEGER NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX wallets_by_id ON wallets (id);
        CREATE UNIQUE INDEX wallets_by_deletion_digest ON wallets (deletion_digest)
            WHERE deletion_digest IS NOT NULL;
        -- What was attested at registration; apart, so that rows of wallets fit into a page.
        CREATE TABLE attestations (wallet INTEGER PRIMARY KEY, attested TEXT NOT NULL) STRICT;
        -- New registrations; whether a session was opened since is in the row of wallets.
        CREATE TABLE unopened (place INTEGER PRIMARY KEY, id BLOB NOT NULL, registered_at INTEGER NOT NULL) STRICT;
        -- The attempt record, the number of the wallet's judged attempts of 8 bytes, and a MAC of 8. Every wallet has
        -- one.
        CREATE TABLE attempts (wallet INTEGER PRIMARY KEY, record BLOB NOT NULL) STRICT;
        -- The check value of the key of these MACs, written before the first wallet registers.
        CREATE TABLE record_key (id INTEGER PRIMARY KEY CHECK (id = 1), key_check BLOB NOT NULL) STRICT;
        -- The permanently blocked wallets whose block is in the audit log. It is a table, written later, because the
        -- commit for a wrong PIN must not write more than the commit for a right one.
        CREATE TABLE recorded_blocks (wallet INTEGER PRIMARY KEY) STRICT;
        -- Written up to a minute after the fact, for operators only: no permission of a wallet depends on it.
        CREATE TABLE last_sessions (wallet INTEGER PRIMARY KEY, at INTEGER NOT NULL) STRICT;
        -- The ended wallets, so that a purge does not have to read all the others.
        CREATE TABLE ended (wallet INTEGER PRIMARY KEY, at INTEGER NOT NULL) STRICT;
        -- SHA-256 of the deletion codes of purged wallets, so that each goes on saying done.
        CREATE TABLE purged_codes (digest BLOB PRIMARY KEY, revoked_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        -- The vault's MACs of recovery codes that no wallet may use.
        CREATE TABLE denied_recovery_codes (mac BLOB PRIMARY KEY, denied_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        -- The hardware keys of wallets whose devices are not allowed to register again.
        CREATE TABLE barred_hardware_keys (digest BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
        -- The shares that will replace a wallet's current ones, sealed. Each is null once its wallet has confirmed it,
        -- and the row is gone once both are.
        CREATE TABLE next_shares (wallet INTEGER PRIMARY KEY, unlock_share BLOB, presence_share BLOB) STRICT;
        -- The refresh that creates them: the wallet after which it continues, and the last one that it covers.
        CREATE TABLE share_refresh (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            begun_at INTEGER NOT NULL,
            place INTEGER NOT NULL,
            last INTEGER NOT NULL
        ) STRICT;
        -- When each version of the vault's keys began to seal, when no value sealed with an older version was left, and
        -- a check value of four bytes, derived from its key.
        CREATE TABLE vault_versions (
            version INTEGER PRIMARY KEY,
            active_since INTEGER NOT NULL,
            sealed_anew_at INTEGER,
            key_check BLOB NOT NULL
        ) STRICT;
        -- The epochs opened by restores; the first epoch has no row.
        CREATE TABLE epochs (
            number INTEGER PRIMARY KEY CHECK (number > 1),
            rule TEXT NOT NULL,
            opened_at INTEGER NOT NULL,
            mac BLOB NOT NULL
        ) STRICT;
        CREATE TABLE operator_values (
            name TEXT PRIMARY KEY,
            value TEXT NOT NULL,
            set_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE operator_revision (id INTEGER PRIMARY KEY CHECK (id = 1), revision INTEGER NOT NULL) STRICT;
        INSERT INTO operator_revision (id, revision) VALUES (1, 0);
        CREATE TABLE solution (id INTEGER PRIMARY KEY CHECK (id = 1), revoked INTEGER NOT NULL) STRICT;
        INSERT INTO solution (id, revoked) VALUES (1, 0);
        -- The newest audit log entry at the last audited change; no row before the first one.
        CREATE TABLE audit_mark (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            number INTEGER NOT NULL,
            mac TEXT NOT NULL
        ) STRICT;
        -- The store's generation, and the number of witness requests.
        CREATE TABLE generation (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            value INTEGER NOT NULL,
            witness_step INTEGER NOT NULL
        ) STRICT;
        INSERT INTO generation (id, value, witness_step) VALUES (1, 1, 0);
        """

    /// The migrations from version n to n + 1; the first one creates a new store.
    let migrations: [String]
    /// The entries that each version's migrations make, starting with those of an empty database.
    private let made: [Set<SchemaEntry>]?

    init(migrations: [String]) {
        self.migrations = migrations
        self.made = try? Self.entries(of: migrations)
    }

    private static func entries(of migrations: [String]) throws -> [Set<SchemaEntry>] {
        let database = try SQLiteDatabase()
        return try [[]]
            + migrations.map { migration in
                try database.execute(migration)
                return Set(try SchemaEntry.all(in: database))
            }
    }

    var version: Int { self.migrations.count }

    /// The settings used for every connection.
    ///
    /// - Exclusive locking: only one process has the file open. No shared memory is mapped, because a
    ///   full disk could take it away.
    /// - WAL with `synchronous = FULL`: each commit is synced before it returns.
    /// - `secure_delete`: deleted content is overwritten.
    /// - No memory-mapped pages: for each mapped page, SQLite first searches the log's index, which lists every copy of
    ///   that page. A page that every commit writes would cost more the longer the log is. SQLite's own cache is
    ///   searched before the log. It has room for the index of a few million wallets and grows only as needed.
    static let settings = [
        "PRAGMA locking_mode = EXCLUSIVE",
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",
        "PRAGMA secure_delete = ON",
        "PRAGMA temp_store = MEMORY",
        "PRAGMA trusted_schema = OFF",
        "PRAGMA cache_size = -131072",
        "PRAGMA mmap_size = 0",
    ]

    /// Opens a store's file with ``settings``, or a database in memory.
    ///
    /// The file must be the one at this path, and not the target of a link there.
    static func open(_ path: String? = nil) throws -> SQLiteDatabase {
        let database = try path.map { path throws(SQLiteFailure) in try SQLiteDatabase(path) } ?? SQLiteDatabase()
        // Before the first setting, with which SQLite reads the log.
        if let path { try DatabaseFile.requireItself(path, of: database) }
        try database.harden()
        try database.execute(Self.settings.joined(separator: ";"))
        return database
    }

    /// Migrates a file to this version, with each step in a separate transaction.
    ///
    /// Rejects a file whose schema this program did not make. Returns the store's previous version if it was older.
    @discardableResult
    func migrate(_ db: SQLiteDatabase, creating: Bool, acceptingMoved: Bool = false) throws -> Int? {
        let id = try db.number("PRAGMA application_id") ?? 0
        let found = Int(try db.number("PRAGMA user_version") ?? 0)
        guard id != Self.backupID else { throw StoreOpenError.backup }
        guard id != Self.movedID || acceptingMoved else { throw StoreOpenError.moved }
        let isNew = id == 0 && found == 0 && creating
        guard isNew || (id == Self.applicationID || id == Self.movedID) && found > 0 else {
            throw StoreOpenError.notAStore
        }
        guard found <= self.version else { throw StoreOpenError.newerVersion(found: found, known: self.version) }
        let differences = self.differences(in: try SchemaEntry.all(in: db), ofVersion: found)
        guard differences.isEmpty else { throw StoreOpenError.otherSchema(differences) }
        for version in found..<self.version {
            try db.inTransaction {
                try db.execute(self.migrations[version])
                try db.execute("PRAGMA application_id = \(isNew ? Self.applicationID : id)")
                try db.execute("PRAGMA user_version = \(version + 1)")
            }
        }
        return isNew || found == self.version ? nil : found
    }

    /// Returns each entry that this program does not make in this version, makes otherwise, or misses; empty if there
    /// is none.
    ///
    /// Invariant (G3, G4): a store with any other object is not served. Connections run no trigger and read no view
    /// (`SQLiteDatabase.harden()`), but a changed table may have a column that computes its value, and an unknown index
    /// or table shows that another program wrote to the file.
    func differences(in found: [SchemaEntry], ofVersion version: Int) -> [String] {
        guard let made = self.made, made.indices.contains(version) else { return ["its version \(version) is unknown"] }
        let other = Set(found).subtracting(made[version])
        let missing = made[version].subtracting(found)
        let changed = Set(other.map(\.title)).intersection(missing.map(\.title))
        // SQLite rejects a schema with two objects of one name when it is parsed, but not when it is read as a table.
        let isRepeated = Set(found).count != found.count
        return other.map { "\($0.title) is \(changed.contains($0.title) ? "changed" : "unknown")" }.sorted()
            + missing.filter { !changed.contains($0.title) }.map { "\($0.title) is missing" }.sorted()
            + (isRepeated ? ["an entry is repeated"] : [])
    }
}

extension SchemaEntry {
    fileprivate var title: String {
        self.name == self.table ? "\(self.kind) \(self.name)" : "\(self.kind) \(self.name) on \(self.table)"
    }
}
