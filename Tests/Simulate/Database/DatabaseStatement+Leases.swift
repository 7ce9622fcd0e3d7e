internal import PostgreSQLClient
@testable internal import PostgreSQLStore

/// The statements of the leases.
extension DatabaseStatement {
    static let leaseStatements: [(String, Action)] = [
        ("listen \(LeaseChannel.revoked.rawValue)", { Self.listen(.revoked, $0) }),
        ("listen \(LeaseChannel.acknowledged.rawValue)", { Self.listen(.acknowledged, $0) }),
        (
            """
            insert into leases (server, instance, program, schema_version, vault_keys, lasts_ms, renewed_at)
            select $1::text, $2::text, $3::text, $4::bigint, $5::text, $6::bigint, \(LeaseTable.clock)
            from pg_advisory_xact_lock_shared($7) on conflict do nothing
            """,
            {
                let server = $0.text(1)
                try $0.lock(.advisory($0.number(7)), isShared: true)
                try $0.lock(.lease(server))
                guard $0.tables.leases[server] == nil else { return SimulatedRows() }
                let lease = DatabaseTables.Lease(
                    instance: $0.text(2),
                    program: $0.text(3),
                    schemaVersion: $0.number(4),
                    vaultKeys: $0.text(5),
                    lasts: $0.number(6),
                    renewedAt: $0.clock
                )
                $0.change { $0.leases[server] = lease }
                return SimulatedRows(changed: 1)
            }
        ),
        (
            """
            with renewed as (
                update leases set renewals = renewals + 1, acknowledged = $3, connections = $4, sessions = $5,
                    vault_keys = $6, maintains = not $8,
                    renewed_at = coalesce($10, \(LeaseTable.clock))
                where server = $1 and instance = $2
                returning greatest(renewed_at,
                    (select max(renewed_at) from leases where instance <> $2 and $10::bigint is null)) as time
            )
            select \(LeaseTable.columns), (select time from renewed), \(LeaseTable.clock),
                (select pg_try_advisory_lock($7) where $8),
                (select pg_notify('\(LeaseChannel.acknowledged.rawValue)', '')::text where $9)
            from \(LeaseTable.tables)
            """,
            Self.renew
        ),
        (
            "select \(LeaseTable.columns) from \(LeaseTable.tables)",
            { SimulatedRows($0.tables.leaseRows) }
        ),
        (
            "delete from leases where server = $1 and instance = $2 and renewals = $3",
            {
                let (server, instance, renewals) = ($0.text(1), $0.text(2), $0.number(3))
                try $0.lock(.lease(server))
                guard let lease = $0.tables.leases[server], lease.instance == instance, lease.renewals == renewals
                else { return SimulatedRows() }
                $0.change { $0.leases[server] = nil }
                return SimulatedRows(changed: 1)
            }
        ),
        (
            "select wallets from revocations where number > $1 and number <= $2",
            {
                let (after, newest) = ($0.number(1), $0.number(2))
                let revocations = $0.tables.revocations.filter { $0.key > after && $0.key <= newest }
                return SimulatedRows(revocations.sorted { $0.key < $1.key }.map { [$0.value] })
            }
        ),
    ]

    private static func listen(_ channel: LeaseChannel, _ execution: StatementExecution) -> SimulatedRows {
        execution.backend.channels.insert(channel.rawValue)
        return SimulatedRows()
    }

    /// Renews a lease; the rows are those before the statement.
    private static let renew: Action = { execution in
        let (server, instance, wantsMaintenance) = (execution.text(1), execution.text(2), execution.flag(8))
        try execution.lock(.lease(server))
        var leases = execution.tables.leaseRows
        var renewedTime = PostgreSQLValue.null
        if var lease = execution.tables.leases[server], lease.instance == instance {
            lease.renewals += 1
            let others = execution.tables.leases.values.filter { $0.instance != instance }
            let newest = others.map(\.renewedAt).max() ?? 0
            let time = execution.optionalNumber(10)
            lease.renewedAt = time ?? execution.clock
            lease.acknowledged = execution.number(3)
            lease.connections = execution.number(4)
            lease.sessions = execution.number(5)
            lease.vaultKeys = execution.text(6)
            lease.maintains = !wantsMaintenance
            let renewed = lease
            execution.change { $0.leases[server] = renewed }
            renewedTime = .number(time ?? max(execution.clock, newest))
        }
        var tookMaintenance = PostgreSQLValue.null
        if wantsMaintenance {
            tookMaintenance = .flag(execution.tryLockForSession(.advisory(execution.number(7))))
        }
        if execution.flag(9) { execution.notified.insert(LeaseChannel.acknowledged.rawValue) }
        for place in leases.indices {
            leases[place] += [renewedTime, .number(execution.clock), tookMaintenance, .null]
        }
        return SimulatedRows(leases)
    }
}
