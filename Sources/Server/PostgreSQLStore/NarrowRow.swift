internal import Vocabulary
internal import WalletStore

/// A wallet's narrow row: everything that must change atomically with a verdict, always ``byteCount`` bytes long.
///
///     0–61    the attempts: record, number of judged attempts, MAC (``KeptAttempts``)
///     62–85   revocation, counter of assertions, epoch, number of writes (``WalletState``)
///     86–93   version of the wide row
///     94–125  the key under which the wide row's shares are sealed; zeros once the wallet has ended
///
/// A write compares the whole value with the one that the decision was based on, so no decision relies on a stale part.
struct NarrowRow {
    /// An encoded ``KeptAttempts``, damaged or not.
    var attempts: [UInt8]
    var state: WalletState
    var version: Int64
    var shareKey: [UInt8]

    static let shareKeyByteCount = 32
    private static let stateStart = KeptAttempts.byteCount
    private static let versionStart = NarrowRow.stateStart + WalletState.byteCount
    private static let keyStart = NarrowRow.versionStart + 8
    static let byteCount = NarrowRow.keyStart + NarrowRow.shareKeyByteCount

    init(attempts: [UInt8], state: WalletState, version: Int64, shareKey: [UInt8]) {
        self.attempts = attempts
        self.state = state
        self.version = version
        self.shareKey = shareKey
    }

    /// Decodes only the output of ``encoded()``, except for the attempts.
    init?(decoding bytes: [UInt8]) {
        guard bytes.count == Self.byteCount,
            let state = WalletState(decoding: [UInt8](bytes[Self.stateStart..<Self.versionStart]))
        else { return nil }
        self.attempts = [UInt8](bytes[..<Self.stateStart])
        self.state = state
        self.version = Int64(bitPattern: bytes[Self.versionStart..<Self.keyStart].bigEndian)
        self.shareKey = [UInt8](bytes[Self.keyStart...])
    }

    /// The attempts, or nil if this server did not write them for this wallet.
    func attempts(of wallet: WalletID, by key: RecordKey) -> KeptAttempts? {
        KeptAttempts(decoding: self.attempts, of: wallet, by: key)
    }

    func encoded() -> [UInt8] {
        var bytes = self.attempts
        bytes.reserveCapacity(Self.byteCount)
        bytes += self.state.encoded()
        bytes.append(bigEndian: UInt64(bitPattern: self.version), byteCount: 8)
        return bytes + self.shareKey
    }
}
