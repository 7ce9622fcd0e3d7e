internal import PostgreSQLClient
@testable internal import PostgreSQLStore

/// The statements of a new connection, and those that create the store.
extension DatabaseStatement {
    static let sessionStatements: [(String, Action)] = [
        (Schema.searchPath, { _ in SimulatedRows() }),
        (
            """
            select set_config('enable_seqscan', 'off', false), set_config('enable_hashjoin', 'off', false),
                set_config('enable_mergejoin', 'off', false), set_config('jit', 'off', false),
                set_config('plan_cache_mode', 'force_generic_plan', false)
            """,
            { _ in SimulatedRows() }
        ),
        (
            """
            select set_config('default_transaction_isolation', 'read committed', false),
                set_config('idle_in_transaction_session_timeout', $1, false),
                set_config('client_connection_check_interval', '1s', false),
                set_config('quote_all_identifiers', 'off', false),
                set_config('\(SchemaObjects.checkedSetting)', '', false)
            """,
            { _ in SimulatedRows() }
        ),
        ("select set_config('\(SchemaObjects.checkedSetting)', $1, false)", { _ in SimulatedRows() }),
        (
            "select to_regclass('remote_pin.facts') is not null",
            { rows([.flag($0.tables.facts != nil)]) }
        ),
        (
            "select schema_version from facts",
            { rows($0.tables.facts.map { [.number($0.schemaVersion)] }) }
        ),
        (
            "select record_key_check, home = \(Schema.place) from facts",
            { rows($0.tables.facts.map { [.bytes($0.keyCheck), .flag(true)] }) }
        ),
        ("select \(StoreSession.factColumns) from facts", { rows($0.tables.factColumns) }),
        (
            "select \(DurabilitySettings.expression)",
            { _ in rows([.text(DatabaseTables.settings)]) }
        ),
        (
            "select lane, number from commit_numbers where server = $1",
            {
                let numbers = $0.tables.commitNumbers
                let server = $0.text(1)
                return SimulatedRows(
                    CommitLane.allCases.compactMap { lane in
                        numbers["\(server) \(lane.rawValue)"].map { [.text(lane.rawValue), .number($0)] }
                    }
                )
            }
        ),
        (
            "update facts set lost_commits = true",
            {
                try $0.lock(.facts)
                $0.change { $0.facts?.lostCommits = true }
                return SimulatedRows(changed: 1)
            }
        ),
        (
            "select pg_advisory_xact_lock($1)",
            {
                try $0.lock(.advisory($0.number(1)))
                return SimulatedRows()
            }
        ),
        (
            "insert into facts (schema_version, record_key_check, policy, home) values ($1, $2, $3, \(Schema.place))",
            {
                let facts = DatabaseTables.Facts(
                    schemaVersion: $0.number(1),
                    keyCheck: $0.bytes(2),
                    policy: $0.text(3)
                )
                $0.change { $0.facts = facts }
                return SimulatedRows(changed: 1)
            }
        ),
        (
            "update facts set home = \(Schema.place)",
            { _ in SimulatedRows(changed: 1) }
        ),
    ]
}
