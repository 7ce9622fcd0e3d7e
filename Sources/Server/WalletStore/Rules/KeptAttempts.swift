package import PINPolicy
internal import Secrets
package import Vocabulary

/// A wallet's attempts in stored form: the record, the number of judged attempts, and a MAC over both.
///
/// The number is part of every receipt and never decreases. It also ensures that every judged attempt changes the page.
/// Without it, a right PIN for a wallet with no counted attempts would write nothing, so on a full disk only a right
/// PIN would be answered. Every other write changes the record itself.
///
/// Invariant (G3): a record that this server did not write for this wallet cannot be decoded. A flipped bit, another
/// wallet's record or zeros are treated as damage, never as fewer failures.
package struct KeptAttempts: Sendable {
    package var record = AttemptRecord()
    package var number: UInt64 = 0

    package static let byteCount = AttemptRecord.byteCount + KeptAttempts.numberByteCount + RecordKey.macByteCount
    private static let numberByteCount = 8

    package init() {}

    package init?(decoding bytes: [UInt8], of wallet: WalletID, by key: RecordKey) {
        guard bytes.count == Self.byteCount else { return nil }
        let plain = [UInt8](bytes.dropLast(RecordKey.macByteCount))
        let mac = [UInt8](bytes.suffix(RecordKey.macByteCount))
        guard constantTimeEqual(key.mac(of: plain, of: wallet), mac) else { return nil }
        guard let record = AttemptRecord(decoding: [UInt8](plain.prefix(AttemptRecord.byteCount))) else { return nil }
        self.record = record
        self.number = plain.suffix(Self.numberByteCount).bigEndian
    }

    /// Returns the counts that a session states, without the charges of epochs.
    package func counts(epoch: UInt64) -> AttemptCounts {
        AttemptCounts(
            number: self.number,
            wrongPINs: self.record.wrongPINs,
            lastWrong: self.record.lastWrong,
            epoch: epoch
        )
    }

    package func encoded(of wallet: WalletID, by key: RecordKey) -> [UInt8] {
        var bytes = self.record.encoded()
        bytes.append(bigEndian: self.number, byteCount: Self.numberByteCount)
        bytes += key.mac(of: bytes, of: wallet)
        return bytes
    }
}
