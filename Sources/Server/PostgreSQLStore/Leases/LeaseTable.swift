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
            _ = try self.session.run(.lease(.listen(channel)))
        }
    }

    // The columns of ``LeaseStatement/look``.
    private static let newestColumn = 8
    fileprivate static let firstRowColumn = 9
    private static let columnCount = 21

    /// Inserts this server's lease; returns false if there is one under its name.
    func take() throws -> Bool {
        let holder = LeaseStatement.Holder(
            server: self.parts.server,
            instance: self.instance,
            program: self.parts.program,
            schemaVersion: self.parts.schema.version,
            vaultKeys: self.vaultKeys,
            lasts: Int64(self.parts.lease / .milliseconds(1))
        )
        let taken = try self.session.commit(.lease(.take(holder)))
        try self.session.checkAfterCommit()
        return taken.changed == 1
    }

    private var vaultKeys: String { (self.parts.vaultKeys?() ?? []).joined(separator: " ") }

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
        let renewal = LeaseStatement.Renewal(
            server: self.parts.server,
            instance: self.instance,
            acknowledged: number,
            connections: load.connections,
            sessions: load.sessions,
            vaultKeys: self.vaultKeys,
            takesMaintenance: takesMaintenance,
            isNews: isNews,
            time: time
        )
        let rows = try self.session.commit(.lease(.renew(renewal)))
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
        let rows = try self.session.run(.lease(.look))
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
            .lease(.end(server: row.server.name, instance: row.server.instance, renewals: row.renewals))
        )
        return ended.changed == 1
    }

    /// Ends this server's lease.
    func release() throws {
        _ = try self.session.commit(
            .sql(
                "delete from leases where server = $1 and instance = $2",
                [.text(self.parts.server), .text(self.instance)]
            )
        )
    }

    /// Returns the wallets revoked after one number and up to another; nil if those of the whole store are, or if some
    /// of these revocations are not kept any longer.
    func revoked(after number: Int64, upTo newest: Int64) throws -> [WalletID]? {
        let rows = try self.session.run(.lease(.revocations(after: number, upTo: newest)))
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
package enum LeaseChannel: String, Sendable {
    /// A revocation was committed.
    case revoked = "pin_revoked"
    /// A server has acknowledged revocations.
    case acknowledged = "pin_acknowledged"
}
