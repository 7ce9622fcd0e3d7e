/// The facts certified by a receipt: a verdict, and the state of the wallet's attempts as of its commit.
///
/// The encoding always has ``byteCount`` bytes:
///
///     0       version of the form, 1
///     1       1 the PIN was right · 2 it was wrong · 3 no PIN was judged
///     2–3     wrong PINs since the last right one, including this one
///     4–19    wallet id
///     20–35   attempt id
///     36–43   number of the wallet's judged attempts
///     44–51   time of the last of these wrong PINs, milliseconds since 1970, or 0 if there are none
///
/// Numbers are big-endian. For a right PIN, the number of wrong PINs is the length of the streak that it ended.
package struct AttemptLeaf: Hashable, Sendable {
    package enum Outcome: UInt8, Hashable, Sendable {
        case right = 1
        case wrong = 2
        /// A block, or the repetition of a wrong attempt.
        case notJudged = 3
    }

    package var outcome: Outcome
    package var wrongPINs: Int
    package var walletID: WalletID
    package var attemptID: AttemptID
    package var number: UInt64
    package var lastWrong: Timestamp?

    package static let byteCount = 52
    private static let form: UInt8 = 1

    package init(
        outcome: Outcome,
        wrongPINs: Int,
        walletID: WalletID,
        attemptID: AttemptID,
        number: UInt64,
        lastWrong: Timestamp?
    ) {
        self.outcome = outcome
        self.wrongPINs = wrongPINs
        self.walletID = walletID
        self.attemptID = attemptID
        self.number = number
        self.lastWrong = lastWrong
    }

    /// Decodes a leaf.
    ///
    /// Only accepts what ``write(to:)`` has written.
    package init?(decoding bytes: ArraySlice<UInt8>) {
        let bytes = [UInt8](bytes)
        guard bytes.count == Self.byteCount, bytes[0] == Self.form, let outcome = Outcome(rawValue: bytes[1]),
            let walletID = WalletID(bytes[4..<20]), let attemptID = AttemptID(bytes[20..<36]),
            let lastWrong = Int64(exactly: bytes[44..<52].bigEndian)
        else { return nil }
        self.outcome = outcome
        self.wrongPINs = Int(bytes[2..<4].bigEndian)
        self.walletID = walletID
        self.attemptID = attemptID
        self.number = bytes[36..<44].bigEndian
        self.lastWrong = lastWrong == 0 ? nil : Timestamp(milliseconds: lastWrong)
    }

    /// Appends the encoded leaf.
    package func write(to bytes: inout [UInt8]) {
        bytes.append(Self.form)
        bytes.append(self.outcome.rawValue)
        bytes.append(bigEndian: UInt64(clamping: self.wrongPINs), byteCount: 2)
        bytes.append(contentsOf: self.walletID.bytes)
        bytes.append(contentsOf: self.attemptID.bytes)
        bytes.append(bigEndian: self.number, byteCount: 8)
        bytes.append(bigEndian: UInt64(clamping: self.lastWrong?.milliseconds ?? 0), byteCount: 8)
    }
}
