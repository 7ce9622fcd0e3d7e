internal import PostgreSQLClient
internal import Vocabulary
internal import WalletStore

/// The table of leases as one server uses it, on a separate connection.
///
/// Invariant (G7): this connection passes the same checks as the connections that judge, and each renewal repeats them.
/// If a failover undid a renewal, a revocation could return before this server has acknowledged it. A server does not
/// serve a store that lacks commits.
struct LeaseTable {
    let session: StoreSession
    private let parts: StoreParts
    private let instance: String

    /// A row of the table.
    struct Row {
        let server: LeasedServer
        /// The time that the lease lasts after each renewal.
        let lasts: Duration
        let renewals: Int64
        /// The number up to which the server has settled the revocations.
        var acknowledged: Int64
        /// The server's time at the last renewal, in milliseconds since 1970.
        let renewedAt: Int64
    }

    /// The table at one moment.
    struct View {
        /// The number of the newest revocation.
        let newest: Int64
        var rows: [Row]
    }

    /// The result of a renewal.
    struct Renewal {
        /// The time of the renewed lease, in milliseconds since 1970.
        let time: Int64
        /// The database's clock.
        let clock: Int64
        /// Whether this renewal took the task of maintenance.
        let tookMaintenance: Bool
        /// The table right after the renewal.
        let view: View

        /// The longest time since the end of another server's lease by the database's clock, negative if none has
        /// ended; nil without other leases.
        func overdue(for instance: String) -> Duration? {
            let others = self.view.rows.filter { $0.server.instance != instance }
            return others.map { .milliseconds(self.clock - $0.renewedAt) - $0.lasts }.max()
        }
    }

    /// Connects and subscribes to notifications of revocations and acknowledgments.
    init(
        _ parts: StoreParts,
        _ confirmed: ConfirmedCommits?,
        instance: String,
        until deadline: ContinuousClock.Instant
    ) throws {
        self.parts = parts
        self.instance = instance
        self.session = try StoreSession(parts, confirmed, until: deadline)
        for channel in [LeaseChannel.revoked, .acknowledged] {
            _ = try self.session.run("listen \(channel.rawValue)")
        }
    }

    /// The database's clock.
    static let clock = "(extract(epoch from clock_timestamp()) * 1000)::bigint"

    /// The columns of ``view(_:)``; if no server has a lease, there is one row, with the facts.
    static let columns = """
        \(StoreSession.factColumns), coalesce((select number from revocation_count), 0), server, instance, program,
            leases.schema_version, vault_keys, lasts_ms, renewals, acknowledged, connections, sessions, maintains,
            renewed_at
        """
    static let tables = "facts left join leases on true order by server"
    private static let newestColumn = 8
    fileprivate static let firstRowColumn = 9
    private static let columnCount = 21

    /// The lock for taking a lease (shared) and for recording a new version of the vault's keys (exclusive).
    ///
    /// A lock on the table would also block the renewals of all servers while the commit waits for a standby.
    static let keysLock: Int64 = 0x7250_494E_0003

    /// Inserts this server's lease; returns false if there is one under its name.
    func take() throws -> Bool {
        let taken = try self.session.commit(
            """
            insert into leases (server, instance, program, schema_version, vault_keys, lasts_ms, renewed_at)
            select $1::text, $2::text, $3::text, $4::bigint, $5::text, $6::bigint, \(Self.clock)
            from pg_advisory_xact_lock_shared($7) on conflict do nothing
            """,
            [
                .text(self.parts.server), .text(self.instance), .text(self.parts.program),
                .number(self.parts.schema.version),
                .text(self.vaultKeys), .number(Int64(self.parts.lease / .milliseconds(1))), .number(Self.keysLock),
            ]
        )
        try self.session.checkAfterCommit()
        return taken.changed == 1
    }

    private var vaultKeys: String { (self.parts.vaultKeys?() ?? []).joined(separator: " ") }

    /// The lock of the server that purges, sweeps and reseals, which it keeps until its connection ends.
    private static let maintenanceLock: Int64 = 0x7250_494E_0002

    /// Renews this server's lease with the number of the last revocation that it has settled; returns nil if it has no
    /// lease any longer.
    ///
    /// - Parameters:
    ///   - number: The number of the last revocation that this server has settled.
    ///   - isNews: Whether to notify the servers that wait for it.
    ///   - takesMaintenance: Whether to take the task of maintenance if no server has it.
    ///   - time: This server's time, or nil if it has none yet. The renewal then returns the database's time, or the
    ///     time of the newest lease if that is later: after a failover, the new primary's clock may be behind. Even
    ///     then, the row gets the database's time. Otherwise, servers that start together would keep passing the time
    ///     of a wrong clock on to each other.
    func renew(
        acknowledging number: Int64,
        isNews: Bool,
        load: (connections: Int, sessions: Int),
        takesMaintenance: Bool,
        at time: Int64?
    ) throws -> Renewal? {
        try self.session.recordSchemaChecks()
        let rows = try self.session.commit(
            """
            with renewed as (
                update leases set renewals = renewals + 1, acknowledged = $3, connections = $4, sessions = $5,
                    vault_keys = $6, maintains = not $8,
                    renewed_at = coalesce($10, \(Self.clock))
                where server = $1 and instance = $2
                returning greatest(renewed_at,
                    (select max(renewed_at) from leases where instance <> $2 and $10::bigint is null)) as time
            )
            select \(Self.columns), (select time from renewed), \(Self.clock),
                (select pg_try_advisory_lock($7) where $8),
                (select pg_notify('\(LeaseChannel.acknowledged.rawValue)', '')::text where $9)
            from \(Self.tables)
            """,
            [
                .text(self.parts.server), .text(self.instance), .number(number), .number(Int64(load.connections)),
                .number(Int64(load.sessions)), .text(self.vaultKeys), .number(Self.maintenanceLock),
                .flag(takesMaintenance), .flag(isNews), time.map { .number($0) } ?? .null,
            ]
        )
        try self.session.take(rows)
        try self.session.checkAfterCommit()
        var view = try self.view(rows)
        guard let time = rows.number(0, Self.columnCount), let clock = rows.number(0, Self.columnCount + 1) else {
            return nil
        }
        // The row is as it was before this statement.
        for place in view.rows.indices where view.rows[place].server.instance == self.instance {
            view.rows[place].acknowledged = number
        }
        return Renewal(
            time: time,
            clock: clock,
            tookMaintenance: rows.flag(0, Self.columnCount + 2) == true,
            view: view
        )
    }

    /// Reads the table.
    func look() throws -> View {
        let rows = try self.session.run("select \(Self.columns) from \(Self.tables)")
        try self.session.take(rows)
        return try self.view(rows)
    }

    private func view(_ rows: PostgreSQLRows) throws -> View {
        guard let newest = rows.number(0, Self.newestColumn) else { throw StoreError.corrupt }
        let leases = (0..<rows.count).filter { rows.text($0, Self.firstRowColumn) != nil }
        return View(newest: newest, rows: try leases.map { try Row(rows, $0) })
    }

    /// Ends a lease, unless it was renewed since this row was read; returns whether it did.
    ///
    /// Invariant (G7): a lease ends by the removal of its row. The holder's next renewal then finds none, so a renewal
    /// that was under way, and has not seen a later revocation, does not revive it.
    func end(_ row: Row) throws -> Bool {
        let ended = try self.session.commit(
            "delete from leases where server = $1 and instance = $2 and renewals = $3",
            [.text(row.server.name), .text(row.server.instance), .number(row.renewals)]
        )
        return ended.changed == 1
    }

    /// Ends this server's lease.
    func release() throws {
        _ = try self.session.commit(
            "delete from leases where server = $1 and instance = $2",
            [.text(self.parts.server), .text(self.instance)]
        )
    }

    /// Returns the wallets revoked after one number and up to another; nil if those of the whole store are, or if some
    /// of these revocations are not kept any longer.
    func revoked(after number: Int64, upTo newest: Int64) throws -> [WalletID]? {
        let rows = try self.session.run(
            "select wallets from revocations where number > $1 and number <= $2",
            [.number(number), .number(newest)]
        )
        guard Int64(rows.count) == newest - number else { return nil }
        var wallets: [WalletID] = []
        for place in 0..<rows.count {
            guard let bytes = rows.bytes(place, 0) else { return nil }
            for start in stride(from: 0, to: bytes.count, by: WalletIDKind.byteCount) {
                guard let wallet = WalletID([UInt8](bytes[start...].prefix(WalletIDKind.byteCount))) else { return nil }
                wallets.append(wallet)
            }
        }
        return wallets
    }
}

extension LeaseTable.Row {
    fileprivate init(_ rows: PostgreSQLRows, _ at: Int) throws(StoreError) {
        let first = LeaseTable.firstRowColumn
        guard let name = rows.text(at, first), let instance = rows.text(at, first + 1),
            let program = rows.text(at, first + 2), let version = rows.number(at, first + 3),
            let keys = rows.text(at, first + 4), let lasts = rows.number(at, first + 5),
            let renewals = rows.number(at, first + 6), let acknowledged = rows.number(at, first + 7),
            let connections = rows.number(at, first + 8), let sessions = rows.number(at, first + 9),
            let maintains = rows.flag(at, first + 10), let renewedAt = rows.number(at, first + 11)
        else { throw .corrupt }
        self.server = LeasedServer(
            name: name,
            instance: instance,
            program: program,
            schemaVersion: version,
            vaultKeys: keys.split(separator: " ").map(String.init),
            connections: Int(connections),
            sessions: Int(sessions),
            hasMaintenance: maintains
        )
        self.lasts = .milliseconds(lasts)
        self.renewals = renewals
        self.acknowledged = acknowledged
        self.renewedAt = renewedAt
    }
}

/// The channels on which the database wakes servers (`notify`).
///
/// A lost notification only delays: each server looks into the tables with every renewal.
enum LeaseChannel: String {
    /// A revocation was committed.
    case revoked = "pin_revoked"
    /// A server has acknowledged revocations.
    case acknowledged = "pin_acknowledged"
}
