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

    /// Version 4: what stays of wallets that were purged.
    static let purgeTable = """
        -- SHA-256 of deletion codes, so that each goes on saying done.
        CREATE TABLE purged_codes (digest BLOB PRIMARY KEY, revoked_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        """

    /// Version 5: since when the vault's key versions seal, and since when nothing older does.
    static let vaultTable = """
        CREATE TABLE vault_versions (
            version INTEGER PRIMARY KEY,
            active_since INTEGER NOT NULL,
            sealed_anew_at INTEGER
        ) STRICT;
        """

    /// Version 6: what each version's key is recognized by, four bytes that are derived from it.
    static let vaultChecks = "ALTER TABLE vault_versions ADD COLUMN key_check BLOB"

    /// Version 7: each wallet's identity is sealed by a key of its own; the tables are the same.
    ///
    /// An older server does not have these keys and must not serve the store.
    static let identityKeys = "SELECT 7"

    /// Version 8: the wallets that have ended, so that a purge need not look at all the others.
    ///
    /// Those that ended before are found by the first purge, some at a time, and not here: a start does not wait until
    /// every wallet was read.
    static let endedTable = """
        CREATE TABLE ended (wallet INTEGER PRIMARY KEY, at INTEGER NOT NULL) STRICT;
        -- Behind which wallet the search for those that an older server ended goes on; no row where there are none to find.
        CREATE TABLE ended_search (id INTEGER PRIMARY KEY CHECK (id = 1), place INTEGER NOT NULL) STRICT;
        INSERT INTO ended_search (id, place) SELECT 1, min(key) - 1 FROM wallets HAVING count(*) > 0;
        """
}
