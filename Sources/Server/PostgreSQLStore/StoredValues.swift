internal import PINPolicy
internal import PostgreSQLClient
internal import Secrets
internal import Vocabulary
internal import WalletStore

/// A stored wallet: its narrow row, and the wide row that the narrow row names.
///
/// Invariant: the wide row's shares are sealed once more, under a key that only the narrow row has. A revocation
/// overwrites that key, so a copy of the wide row alone, such as a dead tuple or a page on a standby, cannot be used to
/// open any share.
struct StoredValues: HeldWallet, Sendable {
    let id: WalletID
    /// The narrow row's bytes, which a write compares with the stored ones.
    let onFile: [UInt8]
    var version: Int64
    private var shareKey: [UInt8]
    /// The wallet with its shares opened and the state from the narrow row.
    ///
    /// Every write leaves damaged attempts unchanged.
    var wallet: StoredWallet

    /// The columns of a wide row that change, with their types, in the order of ``wide``.
    static let wideColumns: [(name: String, type: String)] = [
        ("version", "bigint"), ("pin_key_id", "bytea"), ("identity", "bytea"), ("unlock_share", "bytea"),
        ("presence_share", "bytea"), ("deletion_code", "bytea"), ("recovery_mac", "bytea"), ("hardware_key", "bytea"),
        ("next_unlock", "bytea"), ("next_presence", "bytea"),
    ]

    /// The columns in the order in which ``init(_:at:of:by:)`` reads them.
    static let columns =
        "w.id, w.record, v.place, " + StoredValues.wideColumns.map { "v.\($0.name)" }.joined(separator: ", ")
    static let columnCount = 3 + StoredValues.wideColumns.count

    /// Both rows of wallets.
    static let tables = "wallets w left join wallet_values v on v.id = w.id"

    /// Reads a row with ``columns``; throws if anything except the attempts is damaged.
    ///
    /// - Parameter first: The position of the first of these columns.
    init(
        _ rows: PostgreSQLRows,
        at place: Int,
        from first: Int = 0,
        of wallet: WalletID,
        by key: RecordKey
    ) throws(StoreError) {
        func bytes(_ column: Int) throws(StoreError) -> [UInt8] {
            guard let bytes = rows.bytes(place, first + column) else { throw .corrupt }
            return bytes
        }
        guard let narrow = NarrowRow(decoding: try bytes(1)),
            let number = rows.number(place, first + 2), rows.number(place, first + 3) == narrow.version,
            let pinKeyID = PINKeyID(try bytes(4)), let hardwareKey = SHA256Digest(try bytes(10))
        else { throw .corrupt }
        self.id = wallet
        self.onFile = try bytes(1)
        self.version = narrow.version
        self.shareKey = narrow.shareKey
        let opener = ShareSeal(key: narrow.state.revocation == nil ? narrow.shareKey : nil)
        let row = WalletRow(
            key: WalletKey(number: number),
            state: narrow.state,
            pinKeyID: pinKeyID,
            unlockShare: try opener.open(bytes(6), as: .unlockShare),
            identity: try bytes(5),
            presenceShare: try opener.open(bytes(7), as: .presenceShare),
            deletionCode: try opener.open(bytes(8), as: .deletionCode),
            recoveryMAC: try bytes(9),
            hardwareKey: hardwareKey
        )
        let next = NextShares(
            unlock: try rows.bytes(place, first + 11).map { (sealed) throws(StoreError) in
                try opener.open(sealed, as: .nextUnlockShare)
            },
            presence: try rows.bytes(place, first + 12).map { (sealed) throws(StoreError) in
                try opener.open(sealed, as: .nextPresenceShare)
            }
        )
        self.wallet = StoredWallet(row: row, attempts: narrow.attempts(of: wallet, by: key), next: next)
    }

    /// A newly registered wallet.
    init(registering registration: NewRegistration, epoch: UInt32, as form: AttemptRecord.Form) {
        self.id = registration.walletID
        self.onFile = []
        self.version = 1
        self.shareKey = SecretBytes.random(count: NarrowRow.shareKeyByteCount).exposedBytes()
        let row = WalletRow(registering: registration, as: WalletKey(number: 0), in: epoch)
        self.wallet = StoredWallet(row: row, attempts: KeptAttempts(as: form), next: NextShares())
    }

    /// Creates the values of a wallet from another store, with its attempts unchanged and its number of writes.
    init(copying wallet: WholeWallet) {
        self.id = wallet.id
        self.version = 1
        // rule: copy-share-key-shared
        self.shareKey = SecretBytes.random(count: NarrowRow.shareKeyByteCount).exposedBytes()
        let state = wallet.row.state
        self.onFile = NarrowRow(attempts: wallet.attempts, state: state, version: 1, shareKey: self.shareKey).encoded()
        self.wallet = StoredWallet(row: wallet.row, attempts: nil, next: wallet.next)
        // Counted by `narrow(by:)`.
        self.wallet.row.state.writes &-= 1
    }

    /// The narrow row to write in place of ``onFile``.
    ///
    /// It always differs from ``onFile``.
    func narrow(by key: RecordKey) -> [UInt8] {
        var state = self.wallet.row.state
        state.writes &+= 1
        let attempts =
            self.wallet.attempts?.encoded(of: self.id, by: key) ?? NarrowRow.attempts(in: self.onFile)
        // Once the wallet has ended, nothing opens earlier copies of its shares.
        let shareKey = state.revocation == nil ? self.shareKey : [UInt8](repeating: 0, count: self.shareKey.count)
        return NarrowRow(attempts: attempts, state: state, version: self.version, shareKey: shareKey).encoded()
    }

    /// The values after a write of this narrow row, which was made by ``narrow(by:)``.
    func written(_ narrow: [UInt8]) -> StoredValues {
        StoredValues(self, onFile: narrow)
    }

    private init(_ other: StoredValues, onFile: [UInt8]) {
        self.id = other.id
        self.onFile = onFile
        self.version = other.version
        self.shareKey = other.shareKey
        self.wallet = other.wallet
        self.wallet.row.state.writes &+= 1
    }

    /// The values of ``wideColumns``.
    var wide: [PostgreSQLValue] {
        let row = self.wallet.row
        let seal = ShareSeal(key: row.state.revocation == nil ? self.shareKey : nil)
        return [
            .number(self.version), .bytes(row.pinKeyID.bytes), .bytes(row.identity),
            .bytes(seal.seal(row.unlockShare, as: .unlockShare)),
            .bytes(seal.seal(row.presenceShare, as: .presenceShare)),
            .bytes(seal.seal(row.deletionCode, as: .deletionCode)), .bytes(row.recoveryMAC),
            .bytes(row.hardwareKey.bytes),
            self.wallet.next.unlock.map { .bytes(seal.seal($0, as: .nextUnlockShare)) } ?? .null,
            self.wallet.next.presence.map { .bytes(seal.seal($0, as: .nextPresenceShare)) } ?? .null,
        ]
    }
}

/// Seals the shares of one wallet's wide row.
private struct ShareSeal {
    /// Separates the columns, so that no value can pass for another column's.
    enum Column: UInt8 {
        case unlockShare = 1
        case presenceShare, deletionCode, nextUnlockShare, nextPresenceShare
    }

    /// Nil for a wallet that has ended, whose values are zeros and are stored as they are.
    let key: [UInt8]?

    /// An empty value stays empty, because the wallet does not have one.
    func seal(_ value: Sealed, as column: Column) -> [UInt8] {
        guard let key = self.key, !value.isEmpty else { return value }
        return SecretBytes(copying: key).seal(SecretBytes(copying: value), associatedData: [column.rawValue])
    }

    func open(_ value: [UInt8], as column: Column) throws(StoreError) -> Sealed {
        guard let key = self.key, !value.isEmpty else { return value }
        do throws(SealBroken) {
            return try SecretBytes(copying: key).open(value, associatedData: [column.rawValue]).exposedBytes()
        } catch {
            throw .corrupt
        }
    }
}

/// A wallet's narrow row: everything that must change atomically with a verdict.
///
///     62 or more bytes  the attempts: record, number of judged attempts, MAC (``KeptAttempts``)
///     24                revocation, counter of assertions, epoch, number of writes (``WalletState``)
///     8                 version of the wide row
///     32                the key under which the wide row's shares are sealed; zeros once the wallet has ended
///
/// A write compares the whole value with the one that the decision was based on, so no decision relies on a stale part.
struct NarrowRow {
    /// An encoded ``KeptAttempts``, damaged or not.
    var attempts: [UInt8]
    var state: WalletState
    var version: Int64
    var shareKey: [UInt8]

    static let shareKeyByteCount = 32
    /// The length of everything after the attempts.
    private static let restByteCount = WalletState.byteCount + 8 + NarrowRow.shareKeyByteCount

    /// The encoded attempts of a narrow row.
    static func attempts(in bytes: [UInt8]) -> [UInt8] { [UInt8](bytes.dropLast(Self.restByteCount)) }

    init(attempts: [UInt8], state: WalletState, version: Int64, shareKey: [UInt8]) {
        self.attempts = attempts
        self.state = state
        self.version = version
        self.shareKey = shareKey
    }

    /// Decodes only the output of ``encoded()``, except for the attempts.
    init?(decoding bytes: [UInt8]) {
        let rest = bytes.suffix(Self.restByteCount)
        guard rest.count == Self.restByteCount,
            let state = WalletState(decoding: [UInt8](rest.prefix(WalletState.byteCount)))
        else { return nil }
        self.attempts = Self.attempts(in: bytes)
        self.state = state
        self.version = Int64(bitPattern: rest.dropFirst(WalletState.byteCount).prefix(8).bigEndian)
        self.shareKey = [UInt8](rest.suffix(Self.shareKeyByteCount))
    }

    /// The attempts, or nil if this server did not write them for this wallet.
    func attempts(of wallet: WalletID, by key: RecordKey) -> KeptAttempts? {
        KeptAttempts(decoding: self.attempts, of: wallet, by: key)
    }

    func encoded() -> [UInt8] {
        var bytes = self.attempts
        bytes.reserveCapacity(bytes.count + Self.restByteCount)
        bytes += self.state.encoded()
        bytes.append(bigEndian: UInt64(bitPattern: self.version), byteCount: 8)
        return bytes + self.shareKey
    }
}
