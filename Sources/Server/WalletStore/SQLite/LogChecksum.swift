/// The checksum used in SQLite's write-ahead log (SQLite file format, 4.2).
///
/// It depends on every bit and on the order of the bytes, but offers no protection against an attacker.
struct LogChecksum: Hashable {
    var first: UInt32 = 0
    var second: UInt32 = 0

    /// Adds bytes to the checksum, read as pairs of 32-bit words.
    ///
    /// - Precondition: The number of bytes is a multiple of 8.
    mutating func add(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool) {
        precondition(bytes.count.isMultiple(of: 8), "the checksum takes pairs of words")
        for index in stride(from: bytes.startIndex, to: bytes.endIndex, by: 8) {
            let left = Self.word(bytes, index, isBigEndian)
            let right = Self.word(bytes, index + 4, isBigEndian)
            self.first = self.first &+ left &+ self.second
            self.second = self.second &+ right &+ self.first
        }
    }

    private static func word(_ bytes: ArraySlice<UInt8>, _ index: Int, _ isBigEndian: Bool) -> UInt32 {
        let word =
            UInt32(bytes[index]) | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2]) << 16
            | UInt32(bytes[index + 3]) << 24
        return isBigEndian ? word.byteSwapped : word
    }
}
