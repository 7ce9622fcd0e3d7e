import SQLiteClient
internal import Synchronization
import Vocabulary

/// A cache of the rows of recently judged wallets, as of the current transaction.
///
/// A PIN check right after another one for the same wallet runs one statement instead of two.
///
/// Invariant: a cached row equals the stored one. Only one process has the file open and only one connection writes to
/// it (``Schema/settings``), so a row stays valid until that connection changes it. The connection's own changes cannot
/// leave a stale row behind:
///
/// - SQLite removes a wallet from the cache when any statement changes or deletes its row in `wallets`
///   (``attach(to:)``), so no share of an ended wallet is released from the cache.
/// - A row of `attempts` is written only if it contains the cached value; otherwise the step fails
///   (`StoreConnection.keepAttempts(of:)`). Such a row is deleted only together with the row in `wallets`.
/// - A rollback empties the cache.
final class KnownWallets: Sendable {
    /// The capacity, about four megabytes.
    ///
    /// A full cache is emptied.
    private static let most = 4096

    private let wallets = Mutex<[WalletID: HeldRow]>([:])
    /// The sessions that are being opened.
    ///
    /// Read by other threads. Changed only together with the cache.
    let openings: Openings

    init(_ openings: Openings) {
        self.openings = openings
    }

    subscript(wallet: WalletID) -> HeldRow? {
        self.wallets.withLock { $0[wallet] }
    }

    /// Caches a row whose attempts were just written.
    func remember(_ held: HeldRow) {
        self.openings.forget(held.id)
        self.wallets.withLock { wallets in
            if wallets.count >= Self.most { wallets.removeAll(keepingCapacity: true) }
            wallets[held.id] = held
        }
    }

    func forgetAll() {
        self.openings.forgetAll()
        self.wallets.withLock { $0.removeAll(keepingCapacity: true) }
    }

    private func forget(_ wallet: WalletID) {
        self.openings.forget(wallet)
        self.wallets.withLock { $0[wallet] = nil }
    }

    /// Makes a connection report the wallet rows that it changes, and changes to the solution, using triggers that are
    /// private to the connection.
    ///
    /// A connection reports to the cache that was attached last.
    func attach(to db: SQLiteDatabase) throws {
        try db.addFunction("forget_wallet") { argument in
            if let wallet = argument.flatMap({ WalletID($0) }) { self.forget(wallet) } else { self.forgetAll() }
        }
        for event in ["UPDATE", "DELETE"] {
            try db.execute(
                """
                CREATE TEMP TRIGGER IF NOT EXISTS forget_at_\(event) AFTER \(event) ON main.wallets
                BEGIN SELECT forget_wallet(old.id); END
                """
            )
        }
        try db.execute(
            """
            CREATE TEMP TRIGGER IF NOT EXISTS forget_at_solution AFTER UPDATE ON main.solution
            BEGIN SELECT forget_wallet(NULL); END
            """
        )
    }
}

extension StoreConnection {
    /// Returns a wallet with the parts that judging requires, as of the current transaction.
    ///
    /// Missing attempts mean damage, because every wallet has them from registration on. The next shares are read for
    /// every verdict. Otherwise, with a damaged row, a wrong PIN would be counted but a right one would not.
    func attempted(_ wallet: WalletID) throws -> HeldRow? {
        guard var held = try self.known[wallet] ?? self.hold(wallet, with: .attempts) else { return nil }
        guard held.wallet.attempts != nil else { throw StoreError.corrupt }
        held.wallet.next = try self.nextShares(of: held.wallet.row.key)
        return held
    }

    func wallet(_ wallet: WalletID) throws -> WalletRow? {
        let statement = try self.db.statement(WalletRow.selection)
        statement.bind(wallet.bytes, at: 1)
        return try statement.first { try WalletRow($0) }
    }

    /// Writes a wallet's row in place.
    ///
    /// The row always changes and keeps its width.
    func keep(_ row: WalletRow) throws {
        var row = row
        row.state.writes &+= 1
        let (statement, values) = (try self.db.statement(WalletRow.replacement), row.values)
        for (place, value) in values.enumerated() { statement.bind(value, at: Int32(place + 1)) }
        statement.bind(row.key.number, at: Int32(values.count + 1))
        try statement.run()
    }

    /// Writes an attempt record, which the caller has changed.
    ///
    /// Its width is fixed.
    ///
    /// Invariant (G4): an attempt is counted only on top of the record that it replaces. The statement compares the
    /// stored record with the one that the attempt was judged from. If they differ, the step fails and is repeated from
    /// the stored record (``BatchWriter``).
    func keepAttempts(of held: HeldRow) throws {
        guard let attempts = held.wallet.attempts else { throw StoreError.corrupt }
        var kept = held
        kept.onFile = attempts.encoded(of: held.id, by: self.key)
        kept.wallet.next = NextShares()
        let statement = try self.db.statement("UPDATE attempts SET record = ?2 WHERE wallet = ?1 AND record = ?3")
        statement.bind(held.wallet.row.key.number, at: 1)
        statement.bind(kept.onFile, at: 2)
        statement.bind(held.onFile, at: 3)
        guard try statement.run() == 1 else { throw StoreError.corrupt }
        self.known.remember(kept)
    }
}

extension WalletRow {
    /// The columns after the key, in the order in which ``init(_:)`` reads them.
    private static let names = [
        "state", "pin_key_id", "unlock_share", "identity", "presence_share", "deletion_code", "recovery_mac",
        "hardware_key",
    ]
    static let columns = (["key"] + WalletRow.names).joined(separator: ", ")
    static let columnCount = Int32(WalletRow.names.count + 1)
    fileprivate static let selection = "SELECT \(WalletRow.columns) FROM wallets WHERE id = ?"
    fileprivate static let replacement =
        "UPDATE wallets SET \(WalletRow.names.map { "\($0) = ?" }.joined(separator: ", ")) WHERE key = ?"
    /// The statement that adds a row with ``values``, and then the id, the digest of the deletion code and the time.
    static let addition = {
        let others = ["id", "deletion_digest", "registered_at"]
        let values = String(repeating: ", ?", count: Self.names.count + others.count)
        return "INSERT INTO wallets (\(Self.columns), \(others.joined(separator: ", "))) VALUES (NULL\(values))"
    }()

    /// The values of all columns but the key.
    var values: [[UInt8]] {
        [
            self.state.encoded(), self.pinKeyID.bytes, self.unlockShare, self.identity, self.presenceShare,
            self.deletionCode, self.recoveryMAC, self.hardwareKey.bytes,
        ]
    }

    /// Reads a row with these ``columns``.
    init(_ row: borrowing PreparedRow) throws {
        let (key, state) = try row.keyAndState()
        self.init(
            key: key,
            state: state,
            pinKeyID: try row.identifier(2),
            unlockShare: try row.kept(3),
            identity: try row.kept(4),
            presenceShare: try row.kept(5),
            deletionCode: try row.kept(6),
            recoveryMAC: try row.kept(7),
            hardwareKey: try row.identifier(8)
        )
        guard self.recoveryMAC.count == Self.recoveryMACByteCount else { throw StoreError.corrupt }
    }
}

extension PreparedRow {
    /// Reads the wallet's key and state, which are always the first columns.
    borrowing func keyAndState() throws -> (WalletKey, WalletState) {
        guard let key = self.number(0), let state = WalletState(decoding: try self.kept(1)) else {
            throw StoreError.corrupt
        }
        return (WalletKey(number: key), state)
    }

    /// Returns the bytes in a column.
    ///
    /// Throws if it has any other type, which this code never writes.
    borrowing func kept(_ column: Int32) throws -> [UInt8] {
        guard let bytes = self.bytes(column) else { throw StoreError.corrupt }
        return bytes
    }

    borrowing func identifier<Kind>(_ column: Int32) throws -> FixedBytes<Kind> {
        guard let value = FixedBytes<Kind>(try self.kept(column)) else { throw StoreError.corrupt }
        return value
    }
}
