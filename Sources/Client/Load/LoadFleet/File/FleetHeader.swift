internal import Vocabulary

/// The header of a fleet file: its identification, and the seed for all keys.
///
///     offset   0  magic "PINFLEET"          8
///              8  version                    4
///             12  length of a record         4
///             16  records                    8
///             24  sequence                   8   the higher one of the two copies is current
///             32  counter base               8
///             40  1 while a process uses it  1   then 7 zeros
///             48  seed                      32
///             80  SHA-256 of the authority  32   of the server that the wallets are registered with
///            112  zeros                     12
///            124  CRC-32 of the above        4
///
/// Numbers are little-endian. The two copies are in separate blocks and are written alternately. If a write is torn,
/// the other copy is still intact, including the seed.
struct FleetHeader: Hashable {
    var count: Int
    var sequence: UInt64 = 0
    /// The number added to the counter of every record.
    ///
    /// It increases if a process did not close the file.
    var counterBase: UInt64 = 0
    var isInUse = false
    /// The seed for test wallets in a lab.
    ///
    /// Only the file's owner can read it.
    var seed: [UInt8]
    var authority: SHA256Digest

    static let magic = Array("PINFLEET".utf8)
    static let version: UInt32 = 1
    static let byteCount = 128
    /// The offsets of the two copies.
    static let places = [0, 4096]
    /// The offset of the first record.
    static let end = 8192

    var encoded: [UInt8] {
        var bytes = Self.magic
        bytes += Self.version.littleEndianBytes + UInt32(FleetRecord.byteCount).littleEndianBytes
        bytes += UInt64(self.count).littleEndianBytes + self.sequence.littleEndianBytes
        bytes += self.counterBase.littleEndianBytes
        bytes += [self.isInUse ? 1 : 0] + Array(repeating: 0, count: 7)
        bytes += self.seed + self.authority.bytes + Array(repeating: 0, count: 12)
        return bytes + CRC32.of(bytes).littleEndianBytes
    }

    /// A defect in one of the copies.
    enum Defect: Error, Hashable {
        /// The magic number belongs to a different kind of file.
        case foreign
        /// The version or the record length does not match this program.
        case version(UInt32)
        /// The checksum is wrong.
        case torn
    }

    init(count: Int, seed: [UInt8], authority: SHA256Digest) {
        self.count = count
        self.seed = seed
        self.authority = authority
    }

    /// Decodes one copy.
    init(decoding bytes: [UInt8]) throws(Defect) {
        guard bytes.count >= Self.byteCount, bytes.starts(with: Self.magic) else { throw .foreign }
        let body = bytes[..<(Self.byteCount - 4)]
        guard CRC32.of(body) == UInt32(littleEndian: bytes, at: Self.byteCount - 4) else { throw .torn }
        let version = UInt32(littleEndian: bytes, at: 8)
        guard version == Self.version, UInt32(littleEndian: bytes, at: 12) == FleetRecord.byteCount else {
            throw .version(version)
        }
        guard let count = Int(exactly: UInt64(littleEndian: bytes, at: 16)), Fleet.allowedCounts.contains(count),
            let authority = SHA256Digest(bytes[80..<112])
        else { throw .torn }
        self.count = count
        self.sequence = UInt64(littleEndian: bytes, at: 24)
        self.counterBase = UInt64(littleEndian: bytes, at: 32)
        self.isInUse = bytes[40] != 0
        self.seed = Array(bytes[48..<80])
        self.authority = authority
    }
}

extension FixedWidthInteger {
    /// The bytes, least significant first.
    var littleEndianBytes: [UInt8] {
        (0..<(Self.bitWidth / 8)).map { UInt8(truncatingIfNeeded: self >> Self($0 * 8)) }
    }

    /// Reads a number from bytes, least significant first.
    ///
    /// - Precondition: The array contains the bytes.
    init(littleEndian bytes: [UInt8], at offset: Int) {
        self = (0..<(Self.bitWidth / 8)).reduce(0) { value, index in
            value | Self(truncatingIfNeeded: bytes[offset + index]) << Self(index * 8)
        }
    }
}
