package import Vocabulary

/// The wallets that a step reads without locks.
package enum WalletSelection: Sendable {
    /// The next `limit` wallets in order of registration, starting after the cursor `after` or with the first one, and
    /// ending with the cursor `last` or with the last one.
    case next(after: UInt64?, last: UInt64? = nil, limit: Int)
    /// Those of the next `limit` ended wallets that ended before a time.
    case ended(after: UInt64?, before: Timestamp, limit: Int)
    /// The next `limit` registrations whose first session the store has not noticed; those that were not made before a
    /// time have no id.
    case unopened(after: UInt64?, before: Timestamp, limit: Int)
    /// The known ones of these wallets, in any order.
    case these([WalletID])

    /// Returns the number after which a page begins; the first page begins after the least number.
    package static func start(_ cursor: UInt64?) -> Int64 { cursor.map { Int64(bitPattern: $0) } ?? .min }

    /// The maximum number of wallets, or nil if there is none.
    fileprivate var limit: Int? {
        switch self {
        case .next(_, _, let limit), .ended(_, _, let limit), .unopened(_, _, let limit): limit
        case .these: nil
        }
    }
}

/// The wallets of a selection.
package struct WalletPage<Wallet: Sendable>: Sendable {
    package var wallets: [Wallet]
    /// The cursor to continue after, or nil at the end.
    package var next: UInt64?

    package init(wallets: [Wallet], next: UInt64?) {
        self.wallets = wallets
        self.next = next
    }

    /// Reads the wallets of a selection from rows whose first column is the cursor.
    package init<Row: StoredColumns>(
        _ rows: [Row],
        of selection: WalletSelection,
        _ read: (Row) throws -> Wallet
    ) throws {
        let isFull = rows.count == selection.limit
        self.wallets = try rows.map(read)
        self.next = isFull ? try rows.last.map { UInt64(bitPattern: try $0.number(0)) } : nil
    }

    func compactMap<Other>(_ transform: (Wallet) throws -> Other?) rethrows -> WalletPage<Other> {
        WalletPage<Other>(wallets: try self.wallets.compactMap(transform), next: self.next)
    }
}

extension WalletPage: Equatable where Wallet: Equatable {}

/// The part of a wallet that decides whether its PINs are judged.
package struct FoundWallet: Sendable {
    /// The wallet's position in order of registration.
    package let cursor: UInt64
    /// Nil if the row does not contain a wallet's id.
    package let id: WalletID?
    /// Nil if the wallet's rows are damaged.
    package let state: WalletState?
    /// Nil if they are missing, or if this store did not write them for this wallet.
    package let attempts: KeptAttempts?
    /// Whether the audit log contains the wallet's permanent block.
    package let isBlockRecorded: Bool

    package init(cursor: UInt64, id: WalletID?, state: WalletState?, attempts: KeptAttempts?, isBlockRecorded: Bool) {
        self.cursor = cursor
        self.id = id
        self.state = state
        self.attempts = attempts
        self.isBlockRecorded = isBlockRecorded
    }

    /// Returns the id; throws ``StoreError/corrupt`` if there is none.
    func identified() throws -> WalletID {
        guard let id = self.id else { throw StoreError.corrupt }
        return id
    }

    /// Whether the wallet is intact and has not ended.
    var isInUse: Bool { self.state.map { $0.revocation == nil } ?? false }

    /// Whether its state does not decode, or it is in use and its attempts are damaged.
    var isDamaged: Bool { self.state.map { $0.revocation == nil && self.attempts == nil } ?? true }
}

/// A wallet with everything that the store keeps about it.
package struct WalletRecord: Sendable {
    /// The wallet's position in order of registration.
    package let cursor: UInt64
    package let id: WalletID
    package let registeredAt: Timestamp
    package let lastSession: Timestamp?
    /// Nil if a value is missing or damaged, besides the attempts and the attested facts.
    package let whole: WholeWallet?

    package init(
        cursor: UInt64,
        id: WalletID,
        registeredAt: Timestamp,
        lastSession: Timestamp?,
        whole: WholeWallet?
    ) {
        self.cursor = cursor
        self.id = id
        self.registeredAt = registeredAt
        self.lastSession = lastSession
        self.whole = whole
    }
}

/// The values of an intact wallet, as they are copied to another store.
package struct WholeWallet: Hashable, Sendable {
    package var id: WalletID
    /// The encoded attempts with their MAC, damaged or not; empty if they are missing.
    package var attempts: [UInt8]
    package var row: WalletRow
    package var next: NextShares
    package var deletionDigest: [UInt8]?
    package var registeredAt: Timestamp
    /// The attested facts as a JSON object, or nil if they are missing.
    package var attested: String?
    /// The start of the period for the first session, or nil once the store has noticed that session.
    package var unopenedSince: Timestamp?
    package var endedAt: Timestamp?
    package var lastSession: Timestamp?
    /// Whether the audit log contains the wallet's permanent block.
    package var isBlockRecorded: Bool

    package init(
        id: WalletID,
        attempts: [UInt8],
        row: WalletRow,
        next: NextShares,
        deletionDigest: [UInt8]?,
        registeredAt: Timestamp,
        attested: String?,
        unopenedSince: Timestamp?,
        endedAt: Timestamp?,
        lastSession: Timestamp?,
        isBlockRecorded: Bool
    ) {
        self.id = id
        self.attempts = attempts
        self.row = row
        self.next = next
        self.deletionDigest = deletionDigest
        self.registeredAt = registeredAt
        self.attested = attested
        self.unopenedSince = unopenedSince
        self.endedAt = endedAt
        self.lastSession = lastSession
        self.isBlockRecorded = isBlockRecorded
    }

    /// Returns the attempts, or nil if they are missing or this store did not write them for this wallet.
    func attempts(by key: RecordKey) -> KeptAttempts? {
        KeptAttempts(decoding: self.attempts, of: self.id, by: key)
    }
}
