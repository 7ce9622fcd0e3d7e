/// The counts of a wallet's judged attempts, as OpenSession states them.
///
/// Nothing signs them, so a wallet only shows them as a hint until a receipt confirms them. The encoding always has
/// ``byteCount`` bytes, so that its length does not depend on the attempts:
///
///     0–7     number of the wallet's judged attempts
///     8–9     wrong PINs since the last right one
///     10–17   time of the last of these wrong PINs, milliseconds since 1970, or 0 if there are none
///     18–25   the store's epoch
///
/// Numbers are big-endian.
package struct AttemptCounts: Hashable, Sendable {
    /// The number of the wallet's judged attempts, which a receipt of the last one also states.
    package var number: UInt64
    /// The number of wrong PINs since the last right one, without the charges of epochs.
    package var wrongPINs: Int
    /// The time of the last of these wrong PINs, or nil if there are none.
    package var lastWrong: Timestamp?
    /// The store's epoch, which starts at 1.
    package var epoch: UInt64

    package static let byteCount = 26

    package init(number: UInt64, wrongPINs: Int, lastWrong: Timestamp?, epoch: UInt64) {
        self.number = number
        self.wrongPINs = wrongPINs
        self.lastWrong = lastWrong
        self.epoch = epoch
    }

    /// Decodes only the output of ``encoded()``.
    package init?(decoding bytes: [UInt8]) {
        guard bytes.count == Self.byteCount, let lastWrong = Int64(exactly: bytes[10..<18].bigEndian)
        else { return nil }
        self.number = bytes[0..<8].bigEndian
        self.wrongPINs = Int(bytes[8..<10].bigEndian)
        self.lastWrong = lastWrong == 0 ? nil : Timestamp(milliseconds: lastWrong)
        self.epoch = bytes[18..<26].bigEndian
    }

    package func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: self.number, byteCount: 8)
        bytes.append(bigEndian: UInt64(clamping: self.wrongPINs), byteCount: 2)
        bytes.append(bigEndian: UInt64(clamping: self.lastWrong?.milliseconds ?? 0), byteCount: 8)
        bytes.append(bigEndian: self.epoch, byteCount: 8)
        return bytes
    }
}
