internal import GRDB
internal import PreparedSQL

/// The tables and the migrations from earlier versions.
///
/// A released version is never edited, except for comments between its statements: a file stores each statement, and
/// the stored statements are compared with these. Every change is a new entry. Migrations cannot be reversed, so a file
/// written by a newer version is refused instead of being read under assumptions.
enum Schema {
    /// The `PRAGMA application_id` that identifies the file as a wallet store: "rPIN".
    static let applicationID: Int64 = 0x7250_494E
    /// The `PRAGMA application_id` that identifies the file as a backup, which must not be served: "rPIB".
    static let backupID: Int64 = 0x7250_4942
    /// The `PRAGMA application_id` of a store that was copied into a shared database and must not be served: "rPIM".
    static let movedID: Int64 = 0x7250_494D

    /// The migrations from version n to n + 1.
    ///
    /// The first one creates a new store.
    static let migrations = [
        """
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
        CREATE TABLE unopened (wallet INTEGER PRIMARY KEY, registered_at INTEGER NOT NULL) STRICT;
        -- The attempt record, the number of the wallet's judged attempts of 8 bytes and, since version 14, a MAC of 8.
        CREATE TABLE attempts (wallet INTEGER PRIMARY KEY, record BLOB NOT NULL) STRICT;
        -- The vault's MACs of recovery codes that no wallet may use.
        CREATE TABLE denied_recovery_codes (mac BLOB PRIMARY KEY, denied_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        CREATE TABLE solution (id INTEGER PRIMARY KEY CHECK (id = 1), revoked INTEGER NOT NULL) STRICT;
        INSERT INTO solution (id, revoked) VALUES (1, 0);
        """,
        Schema.operatorTables,
        Schema.epochTable,
        Schema.purgeTable,
        Schema.vaultTable,
        Schema.vaultChecks,
        Schema.identityKeys,
        Schema.endedTable,
        Schema.nextSharesTable,
        Schema.barredKeysTable,
        Schema.recordedBlocks,
        Schema.auditMark,
        Schema.generation,
        Schema.recordKey,
    ]

    static var version: Int { Self.migrations.count }

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

    /// - Parameter path: The file that SQLite must open, and not the target of a link there.
    static func configuration(of path: String? = nil) -> Configuration {
        var configuration = Configuration()
        configuration.label = "wallet store"
        configuration.busyMode = .timeout(1)
        configuration.prepareDatabase { db in
            // Before the first setting, with which SQLite reads the log.
            if let path { try DatabaseFile.requireItself(path, of: db) }
            try HardenedConnection.harden(db)
            for setting in Self.settings { _ = try Row.fetchAll(db, sql: setting) }
        }
        return configuration
    }

    /// Migrates a file to this version, with each step in a separate transaction.
    ///
    /// Rejects a file whose schema this program did not make. Returns the store's previous version if it was older.
    @discardableResult
    static func migrate(_ db: Database, creating: Bool, acceptingMoved: Bool = false) throws -> Int? {
        let id = try Int64.fetchOne(db, sql: "PRAGMA application_id") ?? 0
        let found = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        guard id != Self.backupID else { throw StoreOpenError.backup }
        guard id != Self.movedID || acceptingMoved else { throw StoreOpenError.moved }
        let isNew = id == 0 && found == 0 && creating
        guard isNew || (id == Self.applicationID || id == Self.movedID) && found > 0 else {
            throw StoreOpenError.notAStore
        }
        guard found <= Self.version else { throw StoreOpenError.newerVersion(found: found, known: Self.version) }
        let differences = Self.differences(in: try SchemaEntry.all(in: db), ofVersion: found)
        guard differences.isEmpty else { throw StoreOpenError.otherSchema(differences) }
        for version in found..<Self.version {
            try db.inTransaction(.immediate) {
                try db.execute(sql: Self.migrations[version])
                try db.execute(sql: "PRAGMA application_id = \(isNew ? Self.applicationID : id)")
                try db.execute(sql: "PRAGMA user_version = \(version + 1)")
                return .commit
            }
        }
        return isNew || found == Self.version ? nil : found
    }
}
