extension Schema {
    /// Version 2: the values set by operators, and the time of each wallet's last session.
    static let operatorTables = """
        CREATE TABLE operator_values (
            name TEXT PRIMARY KEY,
            value TEXT NOT NULL,
            set_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE operator_revision (id INTEGER PRIMARY KEY CHECK (id = 1), revision INTEGER NOT NULL) STRICT;
        INSERT INTO operator_revision (id, revision) VALUES (1, 0);
        -- Written up to a minute after the fact, for operators only: no permission of a wallet depends on it.
        CREATE TABLE last_sessions (wallet INTEGER PRIMARY KEY, at INTEGER NOT NULL) STRICT;
        """
}
