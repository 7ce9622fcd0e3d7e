extension Schema {
    /// Version 3: the epochs that restores opened; the first one has no row.
    static let epochTable = """
        CREATE TABLE epochs (
            number INTEGER PRIMARY KEY CHECK (number > 1),
            rule TEXT NOT NULL,
            opened_at INTEGER NOT NULL,
            mac BLOB NOT NULL
        ) STRICT;
        """

    /// Version 4: the remaining data of purged wallets.
    static let purgeTable = """
        -- SHA-256 of deletion codes, so that each goes on saying done.
        CREATE TABLE purged_codes (digest BLOB PRIMARY KEY, revoked_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        """

    /// Version 5: since when each vault key version seals, and since when no value of an older one exists.
    static let vaultTable = """
        CREATE TABLE vault_versions (
            version INTEGER PRIMARY KEY,
            active_since INTEGER NOT NULL,
            sealed_anew_at INTEGER
        ) STRICT;
        """

    /// Version 6: the check value of each version's key, four bytes derived from it.
    static let vaultChecks = "ALTER TABLE vault_versions ADD COLUMN key_check BLOB"

    /// Version 7: each wallet's identity is sealed by a separate key; the tables are unchanged.
    ///
    /// An older server does not have these keys and must not serve the store.
    static let identityKeys = "SELECT 7"

    /// Version 8: an index of the wallets that have ended, so that a purge does not read all the others.
    ///
    /// The first purge finds those that ended before, some at a time. The migration does not, because a start must
    /// not wait until every wallet has been read.
    static let endedTable = """
        CREATE TABLE ended (wallet INTEGER PRIMARY KEY, at INTEGER NOT NULL) STRICT;
        -- The wallet after which the search for earlier ends continues; no row once it is complete.
        CREATE TABLE ended_search (id INTEGER PRIMARY KEY CHECK (id = 1), place INTEGER NOT NULL) STRICT;
        INSERT INTO ended_search (id, place) SELECT 1, min(key) - 1 FROM wallets HAVING count(*) > 0;
        """

    /// Version 9: attempt records end with a MAC, and every wallet has one; the number of commits.
    ///
    /// The MACs need the vault's key, so the server adds them once it has checked that the key is the store's
    /// (`StoreConnection.adoptRecords`). A row of `record_key` says that this was done, and with which key.
    static let recordTables = """
        CREATE TABLE record_key (id INTEGER PRIMARY KEY CHECK (id = 1), key_check BLOB NOT NULL) STRICT;
        -- Raised by each commit that changes the store.
        CREATE TABLE generation (id INTEGER PRIMARY KEY CHECK (id = 1), number INTEGER NOT NULL) STRICT;
        INSERT INTO generation (id, number) VALUES (1, 0);
        """
}
