extension Schema {
    /// Version 3: the epochs opened by restores.
    ///
    /// The first epoch has no row.
    static let epochTable = """
        CREATE TABLE epochs (
            number INTEGER PRIMARY KEY CHECK (number > 1),
            rule TEXT NOT NULL,
            opened_at INTEGER NOT NULL,
            mac BLOB NOT NULL
        ) STRICT;
        """

    /// Version 4: the data kept for purged wallets.
    static let purgeTable = """
        -- SHA-256 of deletion codes, so that each goes on saying done.
        CREATE TABLE purged_codes (digest BLOB PRIMARY KEY, revoked_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        """

    /// Version 5: when each vault key version began to seal, and when no value sealed with an older version was left.
    static let vaultTable = """
        CREATE TABLE vault_versions (
            version INTEGER PRIMARY KEY,
            active_since INTEGER NOT NULL,
            sealed_anew_at INTEGER
        ) STRICT;
        """

    /// Version 6: a check value for each version's key, four bytes derived from the key.
    static let vaultChecks = "ALTER TABLE vault_versions ADD COLUMN key_check BLOB"

    /// Version 7: each wallet's identity is sealed with a separate key.
    ///
    /// The tables are unchanged. An older server does not have these keys, so it must not serve the store.
    static let identityKeys = "SELECT 7"

    /// Version 8: an index of ended wallets, so that a purge does not have to read all the others.
    ///
    /// Wallets that ended earlier are found by the first purge, a few at a time. The migration does not search for
    /// them, because a start must not wait until every wallet has been read.
    static let endedTable = """
        CREATE TABLE ended (wallet INTEGER PRIMARY KEY, at INTEGER NOT NULL) STRICT;
        -- The wallet after which the search for earlier ends continues; no row once it is complete.
        CREATE TABLE ended_search (id INTEGER PRIMARY KEY CHECK (id = 1), place INTEGER NOT NULL) STRICT;
        INSERT INTO ended_search (id, place) SELECT 1, min(key) - 1 FROM wallets HAVING count(*) > 0;
        """

    /// Version 9: the shares that will replace a wallet's current ones, and the refresh that creates them.
    static let nextSharesTable = """
        -- Sealed; null once its wallet has confirmed it, and the row is gone once both are.
        CREATE TABLE next_shares (wallet INTEGER PRIMARY KEY, unlock_share BLOB, presence_share BLOB) STRICT;
        -- The refresh in progress: the wallet after which it continues, and the last one that it covers.
        CREATE TABLE share_refresh (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            begun_at INTEGER NOT NULL,
            place INTEGER NOT NULL,
            last INTEGER NOT NULL
        ) STRICT;
        """

    /// Version 10: the hardware keys of wallets whose devices are not allowed to register again.
    ///
    /// The migration adds the keys of wallets whose end is recorded. The search for earlier ends adds the others. The
    /// second byte of a wallet's state is the reason for its end, which is 3 for a recovery code (``WalletState``).
    static let barredKeysTable = """
        CREATE TABLE barred_hardware_keys (digest BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
        INSERT OR IGNORE INTO barred_hardware_keys (digest)
            SELECT hardware_key FROM ended JOIN wallets ON wallets.key = ended.wallet
            WHERE substr(state, 2, 1) = x'03';
        """

    /// Version 11: the permanently blocked wallets whose block is in the audit log.
    ///
    /// It is a table, rather than a flag in the attempt record, because the commit for a wrong PIN must not write more
    /// than the commit for a right one. The table is written later.
    static let recordedBlocks = "CREATE TABLE recorded_blocks (wallet INTEGER PRIMARY KEY) STRICT"

    /// Version 12: the newest audit log entry at the last audited change.
    ///
    /// The table has no row before the first one.
    static let auditMark = """
        CREATE TABLE audit_mark (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            number INTEGER NOT NULL,
            mac TEXT NOT NULL
        ) STRICT
        """

    /// Version 13: the store's generation and the number of witness requests.
    static let generation = """
        CREATE TABLE generation (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            value INTEGER NOT NULL,
            witness_step INTEGER NOT NULL
        ) STRICT;
        INSERT INTO generation (id, value, witness_step) VALUES (1, 1, 0);
        """

    /// Version 14: attempt records end with a MAC, and every wallet has a record.
    ///
    /// The MACs require the vault's key, so the server adds them after checking that the key belongs to the store
    /// (`StoreConnection.adoptRecords`). A row in this table shows that this was done, and with which key.
    static let recordKey = """
        CREATE TABLE record_key (id INTEGER PRIMARY KEY CHECK (id = 1), key_check BLOB NOT NULL) STRICT;
        """
}
