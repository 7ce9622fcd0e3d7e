internal import Vocabulary
internal import WalletStore

/// The narrow row of a wallet: everything that a verdict must be atomic with, always ``byteCount`` bytes.
///
///     0–61    the attempts: record, number of judged attempts, MAC (``KeptAttempts``)
///     62–85   revocation, counter of assertions, epoch, number of writes (``WalletState``)
///     86–93   version of the wide row
///     94–125  the key under which the wide row's shares are sealed; zeros once the wallet has ended
///
/// A write compares the whole value with the one that was decided from, so no decision rests on a stale part.
struct NarrowRow {
    var attempts: KeptAttempts
    var state: WalletState
    var version: Int64
    var shareKey: [UInt8]

    static let shareKeyByteCount = 32
    private static let stateStart = KeptAttempts.byteCount
    private static let versionStart = NarrowRow.stateStart + WalletState.byteCount
    private static let keyStart = NarrowRow.versionStart + 8
    static let byteCount = NarrowRow.keyStart + NarrowRow.shareKeyByteCount

    init(attempts: KeptAttempts, state: WalletState, version: Int64, shareKey: [UInt8]) {
        self.attempts = attempts
        self.state = state
        self.version = version
        self.shareKey = shareKey
    }

    /// Decodes only the output of ``encoded(of:by:)`` for this wallet.
    init?(decoding bytes: [UInt8], of wallet: WalletID, by key: RecordKey) {
        guard bytes.count == Self.byteCount,
            let attempts = KeptAttempts(decoding: [UInt8](bytes[..<Self.stateStart]), of: wallet, by: key),
            let state = WalletState(decoding: [UInt8](bytes[Self.stateStart..<Self.versionStart]))
        else { return nil }
        self.attempts = attempts
        self.state = state
        self.version = Int64(bitPattern: bytes[Self.versionStart..<Self.keyStart].bigEndian)
        self.shareKey = [UInt8](bytes[Self.keyStart...])
    }

    func encoded(of wallet: WalletID, by key: RecordKey) -> [UInt8] {
        var bytes = self.attempts.encoded(of: wallet, by: key)
        bytes.reserveCapacity(Self.byteCount)
        bytes += self.state.encoded()
        bytes.append(bigEndian: UInt64(bitPattern: self.version), byteCount: 8)
        return bytes + self.shareKey
    }
}
