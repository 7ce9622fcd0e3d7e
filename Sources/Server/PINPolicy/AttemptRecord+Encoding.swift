import Vocabulary

/// The stored form of a record, which is always ``byteCount`` bytes long.
///
///     0       version of the form, 1
///     1       bit 0: permanently blocked · bit 1: a block exists · bit 2: a last wrong attempt exists
///     2–3     wrong PINs since the last right one
///     4–11    end of the block, milliseconds since 1970
///     12–19   length of the block, milliseconds
///     20–35   id of the last wrong attempt
///     36–37   wrong PINs that were judged since the last right one
///     38–45   time of the last of them, milliseconds since 1970
///
/// Numbers are big-endian, and absent values are zero. Because the width is fixed, a full disk cannot reveal whether a
/// PIN was right.
extension AttemptRecord {
    /// The length of every encoded record.
    package static let byteCount = 46

    private static let form: UInt8 = 1
    private static let permanentFlag: UInt8 = 1
    private static let blockFlag: UInt8 = 2
    private static let attemptFlag: UInt8 = 4
    private static let noAttempt = [UInt8](repeating: 0, count: 16)

    /// Encodes the record in its stored form.
    package func encoded() -> [UInt8] {
        var flags: UInt8 = 0
        if self.isBlockedPermanently { flags |= Self.permanentFlag }
        if self.block != nil { flags |= Self.blockFlag }
        if self.lastWrongAttempt != nil { flags |= Self.attemptFlag }
        var bytes: [UInt8] = []
        // Leave room for the fields that the store appends.
        bytes.reserveCapacity(Self.byteCount + 16)
        bytes.append(Self.form)
        bytes.append(flags)
        bytes.append(bigEndian: UInt64(self.failures), byteCount: 2)
        bytes.append(bigEndian: UInt64(bitPattern: self.block?.end.milliseconds ?? 0), byteCount: 8)
        bytes.append(bigEndian: UInt64(bitPattern: self.block?.length.milliseconds ?? 0), byteCount: 8)
        bytes.append(contentsOf: self.lastWrongAttempt?.bytes ?? Self.noAttempt)
        bytes.append(bigEndian: UInt64(self.wrongPINs), byteCount: 2)
        bytes.append(bigEndian: UInt64(bitPattern: self.lastWrong?.milliseconds ?? 0), byteCount: 8)
        return bytes
    }

    /// Decodes a record encoded by ``encoded()``.
    ///
    /// Nothing else is accepted, because a damaged record must not be mistaken for one with fewer failures.
    package init?(decoding bytes: [UInt8]) {
        guard bytes.count == Self.byteCount, bytes[0] == Self.form else { return nil }
        let flags = bytes[1]
        guard flags & ~(Self.permanentFlag | Self.blockFlag | Self.attemptFlag) == 0 else { return nil }
        self.init()
        self.failures = Int(bytes[2..<4].bigEndian)
        self.isBlockedPermanently = flags & Self.permanentFlag != 0
        if flags & Self.blockFlag != 0 {
            let end = Int64(bitPattern: bytes[4..<12].bigEndian)
            let length = Int64(bitPattern: bytes[12..<20].bigEndian)
            guard length > 0 else { return nil }
            self.block = Block(end: Timestamp(milliseconds: end), length: .milliseconds(length))
        } else {
            guard Self.isZero(bytes[4..<20]) else { return nil }
        }
        if flags & Self.attemptFlag != 0 {
            self.lastWrongAttempt = AttemptID([UInt8](bytes[20..<36]))
        } else {
            guard Self.isZero(bytes[20..<36]) else { return nil }
        }
        // A record without failures has no other content.
        guard flags == 0 || self.failures > 0 else { return nil }
        self.wrongPINs = Int(bytes[36..<38].bigEndian)
        let lastWrong = Timestamp(milliseconds: Int64(bitPattern: bytes[38..<46].bigEndian))
        if self.wrongPINs > 0 { self.lastWrong = lastWrong } else if lastWrong.milliseconds != 0 { return nil }
        guard self.wrongPINs <= self.failures else { return nil }
    }

    private static func isZero(_ bytes: ArraySlice<UInt8>) -> Bool {
        var some: UInt8 = 0
        for byte in bytes { some |= byte }
        return some == 0
    }
}
