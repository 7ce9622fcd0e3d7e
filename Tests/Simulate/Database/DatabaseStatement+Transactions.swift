internal import PostgreSQLClient
@testable internal import PostgreSQLStore

/// The statements of every transaction, and those that change wallets.
extension DatabaseStatement {
    static let transactionStatements: [(String, Action)] = [
        ("lock table facts in exclusive mode", Self.takeFacts),
        (
            "select \(StoreSession.factColumns) from facts for share of facts",
            {
                try $0.lock(.facts, isShared: true)
                return rows($0.tables.factColumns)
            }
        ),
        ("select \(StoreSession.factColumns) from facts for update of facts", Self.takeFacts),
        (
            StoreTransaction.count,
            {
                let server = "\($0.text(1)) \($0.text(2))"
                try $0.lock(.commitNumber(server))
                let number = ($0.tables.commitNumbers[server] ?? 0) + 1
                $0.change { $0.commitNumbers[server] = number }
                return rows([.number(number), .text(SchemaObjects.checkedPrefix)])
            }
        ),
        (
            """
            with counted as (
                insert into revocation_count (number) values (1)
                on conflict (id) do update set number = revocation_count.number + 1 returning number
            ), pruned as (
                delete from revocations where number <= (select number from revocation_count) - 1000
            ), added as (
                insert into revocations (number, wallets) select number, $1::bytea from counted
            )
            select pg_notify('\(LeaseChannel.revoked.rawValue)', '')
            """,
            {
                try $0.lock(.revocationCount)
                let (number, wallets) = (($0.tables.revocationCount ?? 0) + 1, $0.value(1))
                $0.change {
                    $0.revocationCount = number
                    $0.revocations[number] = wallets
                }
                $0.notified.insert(LeaseChannel.revoked.rawValue)
                return rows([.null])
            }
        ),
        (
            "select id from wallets where id = $1 for no key update",
            {
                let id = $0.bytes(1)
                guard $0.tables.wallets[id] != nil else { return SimulatedRows() }
                try $0.lock(.wallet(id))
                return rows($0.tables.wallets[id].map { _ in [.bytes(id)] })
            }
        ),
        (
            "select \(StoredValues.columns) from \(StoredValues.tables) where w.id = any($1)",
            {
                let tables = $0.tables
                return SimulatedRows($0.arrays(1).filter { tables.wallets[$0] != nil }.compactMap(tables.columns))
            }
        ),
        (
            "update wallets set record = $2 where id = $1 and record = $3 returning record",
            {
                let (id, new, old) = ($0.bytes(1), $0.bytes(2), $0.bytes(3))
                try $0.lock(.wallet(id))
                guard $0.tables.wallets[id] == old else { return SimulatedRows() }
                $0.change { $0.wallets[id] = new }
                return rows([.bytes(new)])
            }
        ),
        (
            """
            update wallet_values set version = $2, pin_key_id = $3, identity = $4, unlock_share = $5,
                presence_share = $6, deletion_code = $7, recovery_mac = $8, hardware_key = $9, next_unlock = $10,
                next_presence = $11
            where id = $1
            """,
            {
                let id = $0.bytes(1)
                let columns = $0.values(2...11)
                guard $0.tables.wide[id] != nil else { return SimulatedRows() }
                $0.change { $0.wide[id]?.columns = columns }
                return SimulatedRows(changed: 1)
            }
        ),
        (
            "insert into ended (place, id, at) values ($1, $2, $3) on conflict do nothing",
            {
                let (place, id, time) = ($0.number(1), $0.bytes(2), $0.number(3))
                $0.change { $0.ended[place] = $0.ended[place] ?? (id, time) }
                return SimulatedRows(changed: 1)
            }
        ),
        (
            "select pg_advisory_xact_lock(hashtextextended(encode($1, 'hex'), $2))",
            {
                try $0.lock(.row("denied_recovery_codes", $0.bytes(1)))
                return rows([.null])
            }
        ),
        (
            "insert into denied_recovery_codes (mac, denied_at) values ($1, $2)",
            {
                let (mac, time) = ($0.bytes(1), $0.number(2))
                $0.change { $0.deniedCodes[mac] = time }
                return SimulatedRows(changed: 1)
            }
        ),
        (
            """
            insert into operator_values (name, value, set_at)
            values ($1, '', floor(extract(epoch from clock_timestamp()) * 1000)::bigint)
            on conflict (name) do update set set_at = excluded.set_at
            """,
            { _ in SimulatedRows(changed: 1) }
        ),
        (
            "update facts set solution_revoked = $1",
            {
                try $0.lock(.facts)
                let isRevoked = $0.flag(1)
                $0.change { $0.facts?.isSolutionRevoked = isRevoked }
                return SimulatedRows(changed: 1)
            }
        ),
        (
            "insert into barred_hardware_keys (digest) values ($1) on conflict do nothing",
            {
                let digest = $0.bytes(1)
                $0.change { $0.barred.insert(digest) }
                return SimulatedRows(changed: 1)
            }
        ),
        (
            """
            insert into audit_marks (server, number, mac) values ($1, $2, $3)
            on conflict (server) do update set number = excluded.number, mac = excluded.mac
            """,
            {
                let (server, number, mac) = ($0.text(1), $0.number(2), $0.text(3))
                $0.change { $0.auditMarks[server] = (number, mac) }
                return SimulatedRows(changed: 1)
            }
        ),
        (
            "insert into recorded_blocks (id) select id from wallets where id = any($1) on conflict do nothing",
            {
                let tables = $0.tables
                let known = $0.arrays(1).filter { tables.wallets[$0] != nil }
                $0.change { $0.recordedBlocks.formUnion(known) }
                return SimulatedRows(changed: known.count)
            }
        ),
        (
            """
            insert into last_sessions (id, at) select id, $2 from wallets where id = $1
            on conflict (id) do update set at = greatest(last_sessions.at, excluded.at)
            """,
            {
                let (id, time) = ($0.bytes(1), $0.number(2))
                guard $0.tables.wallets[id] != nil else { return SimulatedRows() }
                $0.change { $0.lastSessions[id] = max($0.lastSessions[id] ?? time, time) }
                return SimulatedRows(changed: 1)
            }
        ),
    ]

    private static let takeFacts: Action = {
        try $0.lock(.facts)
        return rows($0.tables.factColumns)
    }
}
