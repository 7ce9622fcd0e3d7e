internal import SQLiteClient
import Vocabulary

/// A wallet's row, with the parts that were read with it.
struct HeldRow: HeldWallet, Sendable {
    let id: WalletID
    var wallet: StoredWallet
    /// The attempts as stored; empty if they were not read.
    var onFile: [UInt8] = []
}

/// The rows of an SQLite database, which one connection writes.
///
/// The transaction itself is the lock of each wallet.
extension StoreConnection: Rows {
    func hold(_ wallet: WalletID, with parts: WalletParts) throws -> HeldRow? {
        guard var held = try parts.contains(.attempts) ? self.withAttempts(wallet) : self.withoutAttempts(wallet) else {
            return nil
        }
        if parts.contains(.nextShares) { held.wallet.next = try self.nextShares(of: held.wallet.row.key) }
        return held
    }

    private func withoutAttempts(_ wallet: WalletID) throws -> HeldRow? {
        try self.wallet(wallet).map {
            HeldRow(id: wallet, wallet: StoredWallet(row: $0, attempts: nil, next: NextShares()))
        }
    }

    private static let withAttempts = """
        SELECT \(WalletRow.columns), record
        FROM wallets LEFT JOIN attempts ON attempts.wallet = wallets.key WHERE id = ?
        """

    /// Damaged attempts are nil.
    private func withAttempts(_ wallet: WalletID) throws -> HeldRow? {
        let statement = try self.db.statement(Self.withAttempts)
        statement.bind(wallet.bytes, at: 1)
        return try statement.first { found in
            let onFile = found.bytes(WalletRow.columnCount) ?? []
            let attempts = KeptAttempts(decoding: onFile, of: wallet, by: self.key)
            let stored = StoredWallet(row: try WalletRow(found), attempts: attempts, next: NextShares())
            return HeldRow(id: wallet, wallet: stored, onFile: onFile)
        }
    }

    func keep(_ held: HeldRow, _ parts: WalletParts) throws {
        if parts.contains(.attempts) { try self.keepAttempts(of: held) }
        // The row comes after the attempts: it makes ``KnownWallets`` forget the one that these were kept with.
        if parts.contains(.row) { try self.keep(held.wallet.row) }
        if parts.contains(.nextShares) { try self.keep(held.wallet.next, of: held.wallet.row.key) }
    }

    func wallet(ofDeletionCode digest: SHA256Digest) throws -> WalletID? {
        try self.db.run("SELECT id FROM wallets WHERE deletion_digest = ?", [.bytes(digest.bytes)]).first?.identifier(0)
    }

    /// Looks wallets up by id, because a row number may have been reused since.
    func keepLastSessions(_ sessions: [(wallet: WalletID, at: Timestamp)]) throws {
        for (wallet, at) in sessions {
            try self.db.run(
                """
                INSERT INTO last_sessions (wallet, at) SELECT key, ? FROM wallets WHERE id = ?
                ON CONFLICT (wallet) DO UPDATE SET at = max(at, excluded.at)
                """,
                [.number(at.milliseconds), .bytes(wallet.bytes)]
            )
        }
    }

    /// Steps of a single connection run one after the other.
    func lock(recoveryCode mac: [UInt8]) {}

    /// Only servers that share a store compare it with each other's logs.
    func note(reversal name: String) {}

    func operatorRevision() throws -> Int64? {
        try self.db.number("SELECT revision FROM operator_revision")
    }

    func raiseOperatorRevision() throws {
        try self.db.run("UPDATE operator_revision SET revision = revision + 1")
    }

    /// No other server uses the store.
    func requireKeyAtServers(_ version: UInt32, check: [UInt8]) {}

    func vaultVersionsHaveChanged() throws { try self.readReceiptVersion() }

    func epochsWereOpened(_ count: Int) throws { try self.readEpochs() }

    /// SQLite takes `$1` as the name of a parameter, and numbers parameters in the order of their appearance.
    func query(_ statement: SideStatement, _ values: [ColumnValue]) throws -> [SQLiteRow] {
        try self.db.run(statement.text, values.map { SQLiteValue($0) })
    }

    func noteAudited() throws { try self.keepAuditMark() }
}

/// Reads of many wallets.
extension StoreConnection {
    func find(_ selection: WalletSelection) throws -> WalletPage<FoundWallet> {
        let rows = try self.rows(
            of: selection,
            "w.state, a.record, b.wallet IS NOT NULL",
            """
            LEFT JOIN attempts a ON a.wallet = w.key LEFT JOIN recorded_blocks b ON b.wallet = w.key
            """
        )
        return try WalletPage(rows, of: selection) { row in
            let (wallet, record): (WalletID?, [UInt8]?) = (try? row.identifier(1), (try? row.bytesIfAny(3)) ?? nil)
            return FoundWallet(
                cursor: UInt64(bitPattern: try row.number(0)),
                id: wallet,
                state: try? row.walletState(2),
                attempts: wallet.flatMap { wallet in
                    record.flatMap { KeptAttempts(decoding: $0, of: wallet, by: self.key) }
                },
                isBlockRecorded: try row.number(4) != 0
            )
        }
    }

    func records(_ selection: WalletSelection) throws -> WalletPage<WalletRecord> {
        let rows = try self.rows(
            of: selection,
            """
            w.state, w.pin_key_id, w.unlock_share, w.identity, w.presence_share, w.deletion_code, w.recovery_mac,
                w.hardware_key, record, n.unlock_share, n.presence_share, w.deletion_digest, w.registered_at,
                attested, u.registered_at, e.at, s.at, b.wallet IS NOT NULL
            """,
            """
            LEFT JOIN attempts a ON a.wallet = w.key
                LEFT JOIN next_shares n ON n.wallet = w.key
                LEFT JOIN attestations t ON t.wallet = w.key
                LEFT JOIN unopened u ON u.place = w.key
                LEFT JOIN ended e ON e.wallet = w.key
                LEFT JOIN last_sessions s ON s.wallet = w.key
                LEFT JOIN recorded_blocks b ON b.wallet = w.key
            """
        )
        return try WalletPage(rows, of: selection) { row in
            let wallet: WalletID = try row.identifier(1)
            return WalletRecord(
                cursor: UInt64(bitPattern: try row.number(0)),
                id: wallet,
                registeredAt: try row.time(14),
                lastSession: row.timeIfAny(18),
                whole: try? Self.whole(wallet, in: row)
            )
        }
    }

    private static func whole(_ wallet: WalletID, in row: SQLiteRow) throws -> WholeWallet {
        let recoveryMAC = try row.bytes(8)
        guard recoveryMAC.count == WalletRow.recoveryMACByteCount else { throw StoreError.corrupt }
        return WholeWallet(
            id: wallet,
            attempts: try row.bytesIfAny(10) ?? [],
            row: WalletRow(
                key: WalletKey(number: try row.number(0)),
                state: try row.walletState(2),
                pinKeyID: try row.identifier(3),
                unlockShare: try row.bytes(4),
                identity: try row.bytes(5),
                presenceShare: try row.bytes(6),
                deletionCode: try row.bytes(7),
                recoveryMAC: recoveryMAC,
                hardwareKey: try row.identifier(9)
            ),
            next: NextShares(unlock: try row.bytesIfAny(11), presence: try row.bytesIfAny(12)),
            deletionDigest: try row.bytesIfAny(13),
            registeredAt: try row.time(14),
            attested: row.textIfAny(15),
            unopenedSince: row.timeIfAny(16),
            endedAt: row.timeIfAny(17),
            lastSession: row.timeIfAny(18),
            isBlockRecorded: try row.number(19) != 0
        )
    }

    /// Reads the cursor, the id and these columns.
    private func rows(of selection: WalletSelection, _ columns: String, _ joins: String) throws -> [SQLiteRow] {
        switch selection {
        case .next(let after, let last, let limit):
            let last = last.map { Int64(bitPattern: $0) } ?? .max
            return try self.db.run(
                """
                SELECT w.key, w.id, \(columns) FROM wallets w \(joins)
                WHERE w.key > ? AND w.key <= ? ORDER BY w.key LIMIT ?
                """,
                [.number(WalletSelection.start(after)), .number(last), .number(Int64(limit))]
            )
        case .ended(let after, let time, let limit):
            return try self.db.run(
                """
                SELECT x.wallet, w.id, \(columns)
                FROM ended x LEFT JOIN wallets w ON w.key = x.wallet AND x.at < ? \(joins)
                WHERE x.wallet > ? ORDER BY x.wallet LIMIT ?
                """,
                [.number(time.milliseconds), .number(WalletSelection.start(after)), .number(Int64(limit))]
            )
        case .unopened(let after, let time, let limit):
            return try self.db.run(
                """
                SELECT x.place, iif(x.registered_at < ?1, x.id, NULL), \(columns)
                FROM unopened x LEFT JOIN wallets w ON w.key = x.place AND x.registered_at < ?1 \(joins)
                WHERE x.place > ?2 ORDER BY x.place LIMIT ?3
                """,
                [.number(time.milliseconds), .number(WalletSelection.start(after)), .number(Int64(limit))]
            )
        case .these(let wallets):
            let sql = "SELECT w.key, w.id, \(columns) FROM wallets w \(joins) WHERE w.id = ?"
            return try wallets.flatMap { try self.db.run(sql, [.bytes($0.bytes)]) }
        }
    }

    func search(for mac: RecoveryCodeMAC, after cursor: UInt64?, limit: Int) throws -> WalletPage<FoundWallet> {
        let start = WalletSelection.start(cursor)
        let end = try self.db.number(
            "SELECT max(key) FROM (SELECT key FROM wallets WHERE key > ? ORDER BY key LIMIT ?)",
            [.number(start), .number(Int64(limit))]
        )
        guard let end else { return WalletPage(wallets: [], next: nil) }
        let wallets = try self.db.run(
            "SELECT key, id, state FROM wallets WHERE key > ? AND key <= ? AND recovery_mac = ?",
            [.number(start), .number(end), .bytes(mac.bytes)]
        ).map { row in
            FoundWallet(
                cursor: UInt64(bitPattern: try row.number(0)),
                id: try? row.identifier(1),
                state: try? row.walletState(2),
                attempts: nil,
                isBlockRecorded: false
            )
        }
        return WalletPage(wallets: wallets, next: UInt64(bitPattern: end))
    }

    func walletCount() throws -> Int { Int(try self.db.number("SELECT count(*) FROM wallets") ?? 0) }

    func unconfirmedShares() throws -> Int {
        Int(try self.db.number("SELECT count(*) FROM next_shares") ?? 0)
    }

    func firstAndLastPlace() throws -> (first: Int64, last: Int64)? {
        let sql = "SELECT (SELECT min(key) FROM wallets), (SELECT max(key) FROM wallets)"
        let range = try self.db.run(sql).first
        guard let first = range?.numberIfAny(0), let last = range?.numberIfAny(1) else { return nil }
        return (first, last)
    }
}

extension SQLiteRow: StoredColumns {
    package func bytesIfAny(_ column: Int) throws -> [UInt8]? {
        switch self.values[column] {
        case .bytes(let bytes): bytes
        case .null: nil
        case .number, .real, .text: throw StoreError.corrupt
        }
    }

    func walletState(_ column: Int) throws -> WalletState {
        guard let state = WalletState(decoding: try self.bytes(column)) else { throw StoreError.corrupt }
        return state
    }
}

extension SQLiteValue {
    fileprivate init(_ value: ColumnValue) {
        switch value {
        case .null: self = .null
        case .number(let number): self = .number(number)
        case .text(let text): self = .text(text)
        case .bytes(let bytes): self = .bytes(bytes)
        }
    }
}

extension SQLiteWalletStore {
    package func perform<Step: StoreStep>(_ step: Step) async throws(StoreError) -> Step.Answer {
        try await self.queue.perform { try step.run(in: $0) }
    }
}
