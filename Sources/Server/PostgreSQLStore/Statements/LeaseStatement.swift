internal import PostgreSQLClient

/// The statements on the table of leases.
package enum LeaseStatement: Sendable {
    package struct Renewal: Sendable {
        package let server: String
        package let instance: String
        /// The number of the last revocation that the server has settled.
        package let acknowledged: Int64
        package let connections: Int
        package let sessions: Int
        package let vaultKeys: String
        package let takesMaintenance: Bool
        /// Whether to notify the servers that wait for the number.
        package let isNews: Bool
        /// The server's time, or nil if it has none yet.
        package let time: Int64?
    }

    package struct Holder: Sendable {
        package let server: String
        package let instance: String
        package let program: String
        package let schemaVersion: Int64
        package let vaultKeys: String
        /// The time that the lease lasts, in milliseconds.
        package let lasts: Int64
    }

    case listen(LeaseChannel)
    /// Inserts a lease, unless there is one under the server's name.
    case take(Holder)
    /// Renews a lease; returns ``columns`` as they were before, the time of the lease, the database's clock, and
    /// whether the task of maintenance was taken.
    case renew(Renewal)
    /// Returns ``columns``.
    case look
    /// Ends a lease, unless it was renewed since.
    case end(server: String, instance: String, renewals: Int64)
    /// Returns the wallets of the revocations after one number and up to another.
    case revocations(after: Int64, upTo: Int64)

    var sql: (text: String, values: [PostgreSQLValue]) {
        switch self {
        case .listen(let channel): ("listen \(channel.rawValue)", [])
        case .take(let holder): (Self.taking, holder.values)
        case .renew(let renewal): (Self.renewing, renewal.values)
        case .look: (Self.looking, [])
        case .end(let server, let instance, let renewals):
            (
                "delete from leases where server = $1 and instance = $2 and renewals = $3",
                [.text(server), .text(instance), .number(renewals)]
            )
        case .revocations(let number, let newest):
            (
                "select wallets from revocations where number > $1 and number <= $2",
                [.number(number), .number(newest)]
            )
        }
    }

    /// The lock for taking a lease (shared) and for recording a new version of the vault's keys (exclusive).
    ///
    /// A lock on the table would also block the renewals of all servers while the commit waits for a standby.
    package static let keysLock: Int64 = 0x7250_494E_0003
    /// The lock of the server that purges, sweeps and reseals, which it keeps until its connection ends.
    fileprivate static let maintenanceLock: Int64 = 0x7250_494E_0002

    /// The database's clock.
    private static let clock = "(extract(epoch from clock_timestamp()) * 1000)::bigint"

    /// The facts, the number of the newest revocation, and a lease; if no server has one, there is one row.
    private static let columns = """
        \(StoreSession.factColumns), coalesce((select number from revocation_count), 0), server, instance, program,
            leases.schema_version, vault_keys, lasts_ms, renewals, acknowledged, connections, sessions, maintains,
            renewed_at
        """
    private static let tables = "facts left join leases on true order by server"
    private static let looking = "select \(LeaseStatement.columns) from \(LeaseStatement.tables)"
    private static let taking = """
        insert into leases (server, instance, program, schema_version, vault_keys, lasts_ms, renewed_at)
        select $1::text, $2::text, $3::text, $4::bigint, $5::text, $6::bigint, \(LeaseStatement.clock)
        from pg_advisory_xact_lock_shared($7) on conflict do nothing
        """
    private static let renewing = """
        with renewed as (
            update leases set renewals = renewals + 1, acknowledged = $3, connections = $4, sessions = $5,
                vault_keys = $6, maintains = not $8,
                renewed_at = coalesce($10, \(LeaseStatement.clock))
            where server = $1 and instance = $2
            returning greatest(renewed_at,
                (select max(renewed_at) from leases where instance <> $2 and $10::bigint is null)) as time
        )
        select \(LeaseStatement.columns), (select time from renewed), \(LeaseStatement.clock),
            (select pg_try_advisory_lock($7) where $8),
            (select pg_notify('\(LeaseChannel.acknowledged.rawValue)', '')::text where $9)
        from \(LeaseStatement.tables)
        """
}

extension LeaseStatement.Holder {
    fileprivate var values: [PostgreSQLValue] {
        [
            .text(self.server), .text(self.instance), .text(self.program), .number(self.schemaVersion),
            .text(self.vaultKeys), .number(self.lasts), .number(LeaseStatement.keysLock),
        ]
    }
}

extension LeaseStatement.Renewal {
    fileprivate var values: [PostgreSQLValue] {
        [
            .text(self.server), .text(self.instance), .number(self.acknowledged), .number(Int64(self.connections)),
            .number(Int64(self.sessions)), .text(self.vaultKeys), .number(LeaseStatement.maintenanceLock),
            .flag(self.takesMaintenance), .flag(self.isNews), PostgreSQLValue(self.time),
        ]
    }
}
