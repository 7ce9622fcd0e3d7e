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
}
