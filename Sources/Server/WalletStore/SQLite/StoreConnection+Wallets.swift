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
    struct Attempted: Sendable {
        let row: JudgedRow
        var attempts: KeptAttempts
        /// What is on file of the attempts; nil where there is no row of them.
        var onFile: [UInt8]?
    }

    /// What judging needs of a wallet's row; a class, since it is remembered and handed on, and never changes.
    final class JudgedRow: Sendable {
        let key: WalletKey
        let state: WalletState
        let pinKeyID: PINKeyID
        let unlockShare: Sealed
        let identity: Sealed

        fileprivate init(_ row: borrowing PreparedRow) throws {
            (self.key, self.state) = try row.keyAndState()
            self.pinKeyID = try row.identifier(2)
            self.unlockShare = try row.kept(3)
            self.identity = try row.kept(5)
        }
    }

    /// What judging needs of a wallet, as it stands in the transaction.
    func attempted(_ wallet: WalletID) throws -> Attempted? {
        if let known = self.known[wallet] { return known }
        let statement = self.statements.attempted
        statement.bind(wallet.bytes, at: 1)
        return try statement.first { row in try Attempted(row) }
    }

    func wallet(_ wallet: WalletID) throws -> WalletRow? {
        let statement = self.statements.wallet
        statement.bind(wallet.bytes, at: 1)
        return try statement.first { try WalletRow($0) }
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
    ///
    /// Invariant (G4): no attempt is counted from another record than the one that it replaces. The statement that writes
    /// holds what is on file against what was judged from; where they differ the step fails, and is done again from what
    /// is on file (``BatchWriter``).
    func keep(_ found: Attempted, of wallet: WalletID) throws {
        var kept = found
        kept.attempts.writes &+= 1
        let bytes = kept.attempts.encoded()
        let statement = found.onFile == nil ? self.statements.addAttempts : self.statements.changeAttempts
        statement.bind(found.row.key.number, at: 1)
        statement.bind(bytes, at: 2)
        if let before = found.onFile { statement.bind(before, at: 3) }
        guard try statement.change() == 1 else { throw StoreError.corrupt }
        kept.onFile = bytes
        self.known.remember(kept, of: wallet)
        if kept.attempts.record.isEmpty { self.justEmptied.append(found.row.key) }
    }

    /// Ends a wallet for good, if it has not ended yet.
    func revoke(_ row: inout WalletRow, _ revocation: Revocation, at now: Timestamp) throws {
        guard row.state.revocation == nil else { return self.noteDestroyedBefore() }
        self.noteDestroyed()
        row.revoke(revocation, at: now)
        try self.keep(row)
        try self.noteEnd(of: row.key, at: now)
    }

    /// Why nothing may be released to a wallet; its own revocation before that of the solution.
    func revocation(of state: WalletState) -> Revocation? {
        state.revocation
            ?? (self.isSolutionRevoked ? Revocation(reason: .solution, mayRegisterAnew: false) : nil)
    }
}

extension StoreConnection.Attempted {
    fileprivate init(_ row: borrowing PreparedRow) throws {
        var attempts = KeptAttempts()
        let onFile = row.isNull(4) ? nil : try row.kept(4)
        if let onFile {
            guard let kept = KeptAttempts(decoding: onFile) else { throw StoreError.corrupt }
            attempts = kept
        }
        self.init(row: try StoreConnection.JudgedRow(row), attempts: attempts, onFile: onFile)
    }
}
