internal import PostgreSQLClient

/// The statements of a connection and of its transactions.
package enum SessionStatement: Sendable {
    case setSearchPath
    case setPlanning
    /// Sets how transactions see each other, and after how many milliseconds an idle one ends.
    case setTransactions(idleLimit: Int64)
    /// Records the times at which statements were parsed whose ``SchemaObjects`` were found right.
    case noteChecked(String)
    /// Returns the ``DurabilitySettings``.
    case settings
    case begin(isReadOnly: Bool)
    case commit
    case rollBack
    /// Takes a lock by a number until the end of the transaction.
    case lock(Int64)
    /// Creates or changes tables.
    case migrate(String)

    var sql: (text: String, values: [PostgreSQLValue]) {
        switch self {
        case .setSearchPath: (Schema.searchPath, [])
        case .setPlanning: (Self.planning, [])
        case .setTransactions(let milliseconds): (Self.transactions, [.text("\(milliseconds)")])
        case .noteChecked(let text):
            ("select set_config('\(SchemaObjects.checkedSetting)', $1, false)", [.text(text)])
        case .settings: (Self.settingsText, [])
        case .begin(let isReadOnly): (isReadOnly ? "begin read only" : "begin", [])
        case .commit: ("commit", [])
        case .rollBack: ("rollback", [])
        case .lock(let number): ("select pg_advisory_xact_lock($1)", [.number(number)])
        case .migrate(let text): (text, [])
        }
    }

    private static let settingsText = "select \(DurabilitySettings.expression)"

    /// Makes PostgreSQL use the indexes, because a plan that suits a small store is kept while the store grows.
    ///
    /// For the same reason, plans do not depend on the values of a statement's parameters. Otherwise, PostgreSQL would
    /// plan each small batch anew, which takes longer than running it.
    ///
    /// `jit` is off because a plan that cannot avoid a sequential scan has a cost at which PostgreSQL compiles it,
    /// which takes a hundred times as long as the statement itself.
    private static let planning = """
        select set_config('enable_seqscan', 'off', false), set_config('enable_hashjoin', 'off', false),
            set_config('enable_mergejoin', 'off', false), set_config('jit', 'off', false),
            set_config('plan_cache_mode', 'force_generic_plan', false)
        """

    /// Sets how transactions see each other and when they end, regardless of the database's or the role's settings.
    ///
    /// A transaction must see changes that were committed while it waited for a lock (G7): with `repeatable read`, a
    /// link would not see that its recovery code was denied. The time limit is for a server that freezes, or whose
    /// machine dies, during a transaction. Without it, the database would hold the locks for hours, and the locked
    /// wallets could not be revoked.
    ///
    /// The check of the connection ends a statement that waits for a lock after this server has given up on it.
    /// Otherwise, a cluster without standbys would collect such statements until it accepts no more connections.
    private static let transactions = """
        select set_config('default_transaction_isolation', 'read committed', false),
            set_config('idle_in_transaction_session_timeout', $1, false),
            set_config('client_connection_check_interval', '1s', false),
            set_config('quote_all_identifiers', 'off', false),
            set_config('\(SchemaObjects.checkedSetting)', '', false)
        """
}

/// The statements on the table `facts`.
package enum FactStatement: Sendable {
    package enum Lock: String, Sendable {
        case none = ""
        case shared = " for share of facts"
        case exclusive = " for update of facts"
    }

    /// Returns whether the store's tables exist.
    case exist
    case schemaVersion
    /// Returns the check value of the record key, and whether the database is neither a copy nor a restored dump.
    case origin
    /// Returns these columns.
    case read(columns: String, Lock)
    /// Takes a lock on the table, which is granted in the order of requests.
    case lockTable
    case create(version: Int64, keyCheck: [UInt8], policy: String)
    case noteLostCommits
    case notePlace
    case setSolutionRevoked(Bool)
    case operatorRevision
    /// Counts the epochs, and ends a loss of commits.
    case countEpochs

    var sql: (text: String, values: [PostgreSQLValue]) {
        switch self {
        case .exist: ("select to_regclass('remote_pin.facts') is not null", [])
        case .schemaVersion: ("select schema_version from facts", [])
        case .origin: ("select record_key_check, home = \(Schema.place) from facts", [])
        case .read(let columns, let lock): ("select \(columns) from facts\(lock.rawValue)", [])
        case .lockTable: ("lock table facts in exclusive mode", [])
        case .create(let version, let keyCheck, let policy):
            (
                """
                insert into facts (schema_version, record_key_check, policy, home)
                values ($1, $2, $3, \(Schema.place))
                """,
                [.number(version), .bytes(keyCheck), .text(policy)]
            )
        case .noteLostCommits: ("update facts set lost_commits = true", [])
        case .notePlace: ("update facts set home = \(Schema.place)", [])
        case .setSolutionRevoked(let isRevoked): ("update facts set solution_revoked = $1", [.flag(isRevoked)])
        case .operatorRevision: ("select operator_revision from facts", [])
        case .countEpochs:
            ("update facts set epoch = (select count(*) + 1 from epochs), lost_commits = false", [])
        }
    }
}
