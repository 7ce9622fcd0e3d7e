internal import GRDB
import PINPolicy
import PreparedSQL
import Vocabulary

/// A wallet's place among the rows.
///
/// Given in ascending order, so that no insertion splits a page and leaves copies of
/// other wallets' sealed shares in it.
struct WalletKey: Hashable {
    let number: Int64
}

/// Attempts as they are kept: the record and how often it was written.
///
/// The number of writes makes each write change the page. A right PIN for a wallet that has nothing counted would
/// otherwise write nothing, and where the disk is full only it would get an answer.
struct KeptAttempts {
    var record = AttemptRecord()
    var writes: UInt64 = 0

    static let byteCount = AttemptRecord.byteCount + 8

    init() {}

    init?(decoding bytes: [UInt8]) {
        guard bytes.count == Self.byteCount,
            let record = AttemptRecord(decoding: [UInt8](bytes[..<AttemptRecord.byteCount]))
        else { return nil }
        self.record = record
        self.writes = bytes[AttemptRecord.byteCount...].bigEndian
    }

    func encoded() -> [UInt8] {
        var bytes = self.record.encoded()
        bytes.append(bigEndian: self.writes, byteCount: 8)
        return bytes
    }
}

extension StoreConnection {
    /// What every judged step reads, in one look.
    struct Attempted {
        let key: WalletKey
        let state: WalletState
        let pinKeyID: PINKeyID
        let unlockShare: Sealed
        /// The sealed identity on file where it is another than the caller's.
        let otherIdentity: Sealed?
        var attempts: KeptAttempts
    }

    /// - Parameter identity: what the caller holds for the wallet's sealed identity; compared where it lies.
    func attempted(_ wallet: WalletID, identity: Sealed) throws -> Attempted? {
        if let key = self.knownKeys[wallet] {
            let statement = self.statements.attemptedAt
            statement.bind(key.number, at: 1)
            let found = try statement.first { row in
                row.holds(wallet.bytes, 6) ? try Attempted(row, identity: identity) : nil
            }
            if let found = found ?? nil { return found }
        }
        let statement = self.statements.attempted
        statement.bind(wallet.bytes, at: 1)
        guard let found = try statement.first({ row in try Attempted(row, identity: identity) }) else { return nil }
        self.note(found.key, of: wallet)
        return found
    }

    func wallet(_ wallet: WalletID) throws -> WalletRow? {
        let statement = self.statements.wallet
        statement.bind(wallet.bytes, at: 1)
        guard let row = try statement.first({ try WalletRow($0) }) else { return nil }
        self.note(row.key, of: wallet)
        return row
    }

    /// Writes a wallet's row in place; it always changes, and keeps its width.
    func keep(_ row: WalletRow) throws {
        var state = row.state
        state.writes &+= 1
        let statement = self.statements.keepWallet
        let values = [
            state.encoded(), row.pinKeyID.bytes, row.unlockShare, row.identity, row.presenceShare, row.deletionCode,
            row.recoveryMAC,
        ]
        for (place, value) in values.enumerated() { statement.bind(value, at: Int32(place + 1)) }
        statement.bind(row.key.number, at: Int32(values.count + 1))
        try statement.run()
    }

    /// Writes an attempt record of the one width that there is; it always changes.
    func keep(_ attempts: KeptAttempts, of key: WalletKey) throws {
        var kept = attempts
        kept.writes &+= 1
        let statement = self.statements.keepAttempts
        statement.bind(key.number, at: 1)
        statement.bind(kept.encoded(), at: 2)
        try statement.run()
        if kept.record.isEmpty { self.justEmptied.append(key) }
    }

    /// Ends a wallet for good, if it has not ended yet, and has the log emptied in any case: a repetition may be what
    /// follows a failure to do so.
    func revoke(_ row: inout WalletRow, _ revocation: Revocation, at now: Timestamp) throws {
        self.mustTruncateLog = true
        guard row.state.revocation == nil else { return }
        row.revoke(revocation, at: now)
        try self.keep(row)
        // A wallet that ended before its first session is not swept: its code goes on saying done, and its token stays
        // used.
        try self.markOpened(row.key)
    }

    /// No sweep removes the wallet any more.
    func markOpened(_ key: WalletKey) throws {
        try self.db.makeStatement(sql: "DELETE FROM unopened WHERE wallet = ?").run([key.number])
    }

    /// Why nothing may be released to a wallet; its own revocation before that of the solution.
    func revocation(of state: WalletState) -> Revocation? {
        state.revocation
            ?? (self.isSolutionRevoked ? Revocation(reason: .solution, mayRegisterAnew: false) : nil)
    }
}

extension StoreConnection.Attempted {
    fileprivate init(_ row: borrowing PreparedRow, identity: Sealed) throws {
        var attempts = KeptAttempts()
        if !row.isNull(4) {
            guard let kept = KeptAttempts(decoding: try row.kept(4)) else { throw StoreError.corrupt }
            attempts = kept
        }
        guard let key = row.number(0), let state = WalletState(decoding: try row.kept(1)) else {
            throw StoreError.corrupt
        }
        self.init(
            key: WalletKey(number: key),
            state: state,
            pinKeyID: try row.identifier(2),
            unlockShare: try row.kept(3),
            otherIdentity: row.holds(identity, 5) ? nil : try row.kept(5),
            attempts: attempts
        )
    }
}
