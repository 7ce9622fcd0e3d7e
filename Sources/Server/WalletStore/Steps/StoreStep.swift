package import Vocabulary

/// An operation on a store: a value with its input, and a function that reads, decides and writes in one commit.
///
/// Steps are the same for all engines. An engine finds, locks and keeps values (``Rows``).
package protocol StoreStep: Sendable {
    associatedtype Answer: Sendable
    static var access: StepAccess { get }
    /// Runs the step in a transaction.
    ///
    /// It may be run again after a rollback, so it must not keep anything outside of `rows`.
    func run(in rows: some Rows) throws -> Answer
}

/// The way a step uses the store's facts.
package enum StepAccess: Hashable, Sendable {
    /// Writes nothing.
    case reading
    /// Keeps other servers from changing the facts until the commit.
    case writing
    /// Changes the facts.
    case changingFacts
}

/// The rows of a store in one transaction.
///
/// Invariant: all engines take locks in the same order, so that transactions cannot deadlock: the store's facts, a
/// recovery code, and then wallets in order of their ids (``Swift/Sequence/inLockOrder(_:)``).
package protocol Rows: AnyObject {
    associatedtype Held: HeldWallet
    associatedtype Columns: StoredColumns

    var facts: StoreFacts { get }
    /// The key for the MACs of attempts.
    var key: RecordKey { get }

    /// Reads wallets without locks.
    func find(_ selection: WalletSelection) throws -> WalletPage<FoundWallet>
    /// Reads wallets with all their values, without locks.
    func records(_ selection: WalletSelection) throws -> WalletPage<WalletRecord>
    /// Returns the cursors of the first and the last wallet, or nil if there is none.
    func firstAndLastPlace() throws -> (first: Int64, last: Int64)?
    /// Finds wallets whose row has a recovery code's MAC among the next `limit` wallets after a cursor; their attempts
    /// are left out.
    ///
    /// Reads every row: an index would be written only for a right PIN.
    func search(for mac: RecoveryCodeMAC, after cursor: UInt64?, limit: Int) throws -> WalletPage<FoundWallet>
    func walletCount() throws -> Int
    /// Returns the number of wallets with next shares.
    func unconfirmedShares() throws -> Int
    /// Returns the check value of the key for the MACs of attempts, or nil if the store does not name one.
    func recordKeyCheck() throws -> [UInt8]?
    /// Throws ``StoreError/corrupt`` if any of the next `limit` wallets is hidden from searches or from a walk.
    func requireEveryPlace(after cursor: UInt64?, limit: Int) throws

    /// Locks a wallet until the commit; returns nil if the wallet is unknown.
    ///
    /// Throws ``StoreError/corrupt`` if anything except the attempts is damaged.
    ///
    /// - Parameter parts: The parts that the step needs besides the row.
    func hold(_ wallet: WalletID, with parts: WalletParts) throws -> Held?
    /// Writes these parts of a held wallet in place.
    ///
    /// A store that several servers share also writes if there are none: a failover may undo the row that was read.
    func keep(_ held: Held, _ parts: WalletParts) throws
    func insert(_ registration: NewRegistration) throws
    /// Removes wallets and all their rows, so that none of their counts remain.
    func remove(_ wallets: [WalletID]) throws

    /// Returns the wallet whose deletion code has this SHA-256 digest.
    func wallet(ofDeletionCode digest: SHA256Digest) throws -> WalletID?
    /// Keeps the deletion code of a wallet that is about to be removed.
    func keepPurgedCode(of wallet: WalletID, endedAt time: Timestamp) throws
    func keepEnd(of wallet: WalletID, at now: Timestamp) throws
    func noteRecorded(blocksOf wallets: [WalletID]) throws
    /// Ignores wallets that no longer exist, and keeps later times.
    func keepLastSessions(_ sessions: [(wallet: WalletID, at: Timestamp)]) throws

    /// Orders a link to a recovery code and the code's denial, so that the later one sees the earlier one's commit.
    func lock(recoveryCode mac: [UInt8]) throws
    func setSolutionRevoked(_ isRevoked: Bool) throws
    /// Records, if several servers share the store, that an operator reversed a change that any server's log may have.
    func note(reversal name: String) throws
    /// Returns the audit log entry that was the newest at this server's last audited change.
    func auditMark() throws -> StoredAuditMark?
    func operatorRevision() throws -> Int64?
    func raiseOperatorRevision() throws
    /// Throws ``StoreError/unavailable`` if another server of the store lacks this key of the vault.
    func requireKeyAtServers(_ version: UInt32, check: [UInt8]) throws
    func vaultVersionsHaveChanged() throws
    /// Brings the facts up to date after this number of epochs was opened.
    func epochsWereOpened(_ count: Int) throws

    /// Runs a statement on a side table with its values, and returns the rows that it reads or deletes.
    @discardableResult
    func query(_ statement: SideStatement, _ values: [ColumnValue]) throws -> [Columns]

    /// Notes that the transaction destroys shares, so that no copy of them may stay behind.
    func noteDestroyed()
    /// Notes that the transaction would destroy shares that an earlier one has destroyed.
    func noteDestroyedBefore()
    /// Notes that the transaction changes something that the audit log names; the commit keeps the log's newest entry.
    func noteAudited() throws
}

/// A wallet that a transaction has locked, with what the engine needs to write it.
package protocol HeldWallet {
    var id: WalletID { get }
    var wallet: StoredWallet { get set }
}

/// The parts of a wallet that are read and written separately.
package struct WalletParts: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let row = Self(rawValue: 1)
    package static let attempts = Self(rawValue: 2)
    package static let nextShares = Self(rawValue: 4)
}

/// A value in a statement.
package enum ColumnValue: Hashable, Sendable {
    case null
    case number(Int64)
    case text(String)
    case bytes([UInt8])

    /// A time in milliseconds, or NULL.
    package init(_ time: Timestamp?) {
        self = time.map { .number($0.milliseconds) } ?? .null
    }
}

/// A row that a statement returned.
package protocol StoredColumns {
    /// Returns a number, or nil for NULL and for a value of another type.
    func numberIfAny(_ column: Int) -> Int64?
    /// Returns a text, or nil for NULL and for a value of another type.
    func textIfAny(_ column: Int) -> String?
    /// Returns the bytes, or nil for NULL; may throw if the value has another type.
    func bytesIfAny(_ column: Int) throws -> [UInt8]?
}

extension StoredColumns {
    /// Returns a number; throws ``StoreError/corrupt`` if the column has no number, which no store writes.
    package func number(_ column: Int) throws -> Int64 {
        guard let number = self.numberIfAny(column) else { throw StoreError.corrupt }
        return number
    }

    package func text(_ column: Int) throws -> String {
        guard let text = self.textIfAny(column) else { throw StoreError.corrupt }
        return text
    }

    package func bytes(_ column: Int) throws -> [UInt8] {
        guard let bytes = try self.bytesIfAny(column) else { throw StoreError.corrupt }
        return bytes
    }

    /// Returns the value of a column of this kind; a value of another type counts as NULL.
    func value(_ column: Int, _ kind: ColumnKind) throws -> ColumnValue {
        switch kind {
        case .number: self.numberIfAny(column).map { .number($0) } ?? .null
        case .text: self.textIfAny(column).map { .text($0) } ?? .null
        case .bytes: try self.bytesIfAny(column).map { .bytes($0) } ?? .null
        }
    }

    package func timeIfAny(_ column: Int) -> Timestamp? { self.numberIfAny(column).map { Timestamp(milliseconds: $0) } }

    /// Returns a time in milliseconds.
    package func time(_ column: Int) throws -> Timestamp { Timestamp(milliseconds: try self.number(column)) }

    package func identifier<Kind>(_ column: Int) throws -> FixedBytes<Kind> {
        guard let value = FixedBytes<Kind>(try self.bytes(column)) else { throw StoreError.corrupt }
        return value
    }
}

extension Rows {
    /// Holds a wallet, or returns nil if the wallet is unknown or damaged.
    package func holdIntact(_ wallet: WalletID, with parts: WalletParts = []) throws -> Held? {
        do { return try self.hold(wallet, with: parts) } catch StoreError.corrupt { return nil }
    }
}

extension Sequence {
    /// Returns the elements in order of their wallets' ids.
    ///
    /// Every transaction locks wallets in this order, so that no two wait for each other.
    package func inLockOrder(_ wallet: (Element) -> WalletID) -> [Element] {
        self.sorted { wallet($0).bytes.lexicographicallyPrecedes(wallet($1).bytes) }
    }
}

extension [WalletID] {
    /// Each id once, in the order of first appearance.
    package var once: [WalletID] {
        var seen: Set<WalletID> = []
        return self.filter { seen.insert($0).inserted }
    }
}

extension Array {
    /// Returns the elements in pieces of at most `limit`.
    package func pieces(of limit: Int) -> [[Element]] {
        stride(from: 0, to: self.count, by: limit).map { [Element](self[$0..<Swift.min($0 + limit, self.count)]) }
    }
}
