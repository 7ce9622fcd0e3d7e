internal import PostgreSQLClient
internal import Vocabulary
internal import WalletStore

/// The table of leases as one server uses it, on a separate connection.
struct LeaseTable {
    let connection: PostgreSQLConnection
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
    }

    /// The table at one moment.
    struct View {
        /// The number of the newest revocation.
        let newest: Int64
        let rows: [Row]
    }

    /// The result of a renewal.
    struct Renewal {
        /// The time of all servers, in milliseconds since 1970.
        let time: Int64
        /// Whether this renewal took the task of maintenance.
        let tookMaintenance: Bool
        /// The table right after the renewal.
        let view: View
    }

    /// Connects, and is notified from now on.
    init(_ parts: StoreParts, instance: String, within limit: Duration) throws {
        self.parts = parts
        self.instance = instance
        self.connection = try PostgreSQLConnection(to: parts.target, within: limit)
        _ = try self.connection.run(Schema.searchPath, within: limit)
        for channel in [LeaseChannel.revoked, .acknowledged] {
            _ = try self.connection.run("listen \(channel.rawValue)", within: limit)
        }
    }

    /// The time of all servers: the database's clock, and never before the time of the newest lease.
    ///
    /// After a failover, the new primary's clock may be behind. Blocks must not become longer or shorter by that.
    private static let time = """
        greatest((extract(epoch from clock_timestamp()) * 1000)::bigint, (select max(renewed_at) from leases))
        """

    /// Inserts this server's lease; returns false if there is one under its name.
    func take(within limit: Duration) throws -> Bool {
        let taken = try self.connection.run(
            """
            insert into leases (server, instance, program, schema_version, vault_keys, lasts_ms, renewed_at)
            values ($1, $2, $3, $4, $5, $6, \(Self.time)) on conflict do nothing
            """,
            [
                .text(self.parts.server), .text(self.instance), .text(self.parts.program), .number(Schema.version),
                .text(self.vaultKeys), .number(Int64(self.parts.lease / .milliseconds(1))),
            ],
            commits: true,
            within: limit
        )
        return taken.changed == 1
    }

    private var vaultKeys: String { self.parts.vaultKeys().joined(separator: " ") }

    /// The lock of the server that purges, sweeps and reseals, which it keeps until its connection ends.
    private static let maintenanceLock: Int64 = 0x7250_494E_0002

    /// Renews this server's lease with the number of the last revocation that it has settled; returns nil if it has no
    /// lease any longer.
    ///
    /// - Parameters:
    ///   - number: The number of the last revocation that this server has settled.
    ///   - isNews: Whether to notify the servers that wait for it.
    ///   - takesMaintenance: Whether to take the task of maintenance if no server has it.
    func renew(
        acknowledging number: Int64,
        isNews: Bool,
        load: (connections: Int, sessions: Int),
        takesMaintenance: Bool,
        within limit: Duration
    ) throws -> Renewal? {
        let rows = try self.connection.run(
            """
            with renewed as (
                update leases set renewals = renewals + 1, renewed_at = \(Self.time), acknowledged = $3,
                    connections = $4, sessions = $5, vault_keys = $6, maintains = not $8
                where server = $1 and instance = $2 returning renewed_at
            )
            select (select renewed_at from renewed), coalesce((select number from revocation_count), 0), server,
                instance, program, schema_version, vault_keys, lasts_ms, renewals, acknowledged, connections, sessions,
                maintains, (select pg_try_advisory_lock($7) where $8),
                (select pg_notify('\(LeaseChannel.acknowledged.rawValue)', '')::text where $9)
            from leases order by server
            """,
            [
                .text(self.parts.server), .text(self.instance), .number(number), .number(Int64(load.connections)),
                .number(Int64(load.sessions)), .text(self.vaultKeys), .number(Self.maintenanceLock),
                .flag(takesMaintenance), .flag(isNews),
            ],
            commits: true,
            within: limit
        )
        guard rows.count > 0, let time = rows.number(0, 0), let newest = rows.number(0, 1) else { return nil }
        let leases = try (0..<rows.count).map { try Row(rows, $0) }.map { row in
            // The row as it was before this statement.
            var row = row
            if row.server.instance == self.instance { row.acknowledged = number }
            return row
        }
        return Renewal(
            time: time,
            tookMaintenance: rows.flag(0, 13) == true,
            view: View(newest: newest, rows: leases)
        )
    }

    /// Reads the table.
    func look(within limit: Duration) throws -> View {
        let rows = try self.connection.run(
            """
            select null, (select number from revocation_count), server, instance, program, schema_version, vault_keys,
                lasts_ms, renewals, acknowledged, connections, sessions, maintains
            from leases order by server
            """,
            within: limit
        )
        return View(
            newest: rows.count == 0 ? 0 : rows.number(0, 1) ?? 0,
            rows: try (0..<rows.count).map { try Row(rows, $0) }
        )
    }

    /// Ends a lease, unless it was renewed since this row was read; returns whether it did.
    ///
    /// Invariant (G7): a lease ends by the removal of its row. The holder's next renewal then finds none, so a renewal
    /// that was under way, and has not seen a later revocation, does not revive it.
    func end(_ row: Row, within limit: Duration) throws -> Bool {
        let ended = try self.connection.run(
            "delete from leases where server = $1 and instance = $2 and renewals = $3",
            [.text(row.server.name), .text(row.server.instance), .number(row.renewals)],
            commits: true,
            within: limit
        )
        return ended.changed == 1
    }

    /// Ends this server's lease.
    func release(within limit: Duration) throws {
        _ = try self.connection.run(
            "delete from leases where server = $1 and instance = $2",
            [.text(self.parts.server), .text(self.instance)],
            commits: true,
            within: limit
        )
    }

    /// Returns the wallets revoked after one number and up to another; nil if those of the whole store are, or if some
    /// of these revocations are not kept any longer.
    func revoked(after number: Int64, upTo newest: Int64, within limit: Duration) throws -> [WalletID]? {
        let rows = try self.connection.run(
            "select wallets from revocations where number > $1 and number <= $2",
            [.number(number), .number(newest)],
            within: limit
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
        guard let name = rows.text(at, 2), let instance = rows.text(at, 3), let program = rows.text(at, 4),
            let version = rows.number(at, 5), let keys = rows.text(at, 6), let lasts = rows.number(at, 7),
            let renewals = rows.number(at, 8), let acknowledged = rows.number(at, 9),
            let connections = rows.number(at, 10), let sessions = rows.number(at, 11), let maintains = rows.flag(at, 12)
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
    }
}
