internal import PINPolicy
internal import Secrets
internal import Vocabulary

/// The stored form of a wallet's attempts: the record, its number of writes and their MAC.
///
/// The number of writes makes every write change the page. Otherwise a right PIN for a wallet without counted
/// attempts would write nothing, and on a full disk only it would get an answer.
///
/// Invariant (G3): a record that this server did not write for this wallet does not decode. A changed bit, a record
/// of another wallet or zeros are damage, never fewer failures.
struct KeptAttempts: Sendable {
    var record = AttemptRecord()
    var writes: UInt64 = 0

    static let byteCount = KeptAttempts.plainByteCount + RecordKey.macByteCount
    /// The length without a MAC, in which stores of version 13 and earlier have records.
    private static let plainByteCount = AttemptRecord.byteCount + 8

    init() {}

    init?(decoding bytes: [UInt8], of wallet: WalletID, by key: RecordKey) {
        guard bytes.count == Self.byteCount else { return nil }
        let plain = [UInt8](bytes[..<Self.plainByteCount])
        guard constantTimeEqual(key.mac(of: plain, of: wallet), [UInt8](bytes[Self.plainByteCount...])) else {
            return nil
        }
        self.init(withoutMAC: plain)
    }

    /// Decodes a record of a store of version 13 or earlier.
    init?(withoutMAC bytes: [UInt8]) {
        guard bytes.count == Self.plainByteCount,
            let record = AttemptRecord(decoding: [UInt8](bytes[..<AttemptRecord.byteCount]))
        else { return nil }
        self.record = record
        self.writes = bytes[AttemptRecord.byteCount...].bigEndian
    }

    func encoded(of wallet: WalletID, by key: RecordKey) -> [UInt8] {
        var bytes = self.record.encoded()
        bytes.append(bigEndian: self.writes, byteCount: 8)
        return bytes + key.mac(of: bytes, of: wallet)
    }
}
