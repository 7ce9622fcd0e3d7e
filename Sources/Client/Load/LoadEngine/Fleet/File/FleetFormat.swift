internal import HistoryChecker
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
    /// The seed for test wallets in a lab; only the file's owner can read it.
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

/// A wallet in the file: the values chosen by the server and those that change.
///
/// All other values are derived from the seed.
///
///     offset   0  wallet id                 16
///             16  share's check value       16   its first half
///             32  counter                    4   App Attest proofs made, without the header's base
///             36  PIN generation             4
///             40  history                   16   a HistorySummary; zeros for a new wallet
///             56  state                      1   0 free, 1 registered
///             57  platform                   1   0 Android, 1 iOS
///             58  zeros                      2
///             60  CRC-32 of the above        4
///
/// A record is 64 bytes long, so that none crosses a disk sector boundary. A slot that was never written is all zeros.
struct FleetRecord: Hashable {
    var walletID: WalletID
    var platform: Platform
    var shareCheck: [UInt8]
    var counter: UInt32 = 0
    var generation: UInt32 = 0
    var history = HistorySummary.fresh

    static let byteCount = 64
    static let shareCheckByteCount = 16

    var encoded: [UInt8] {
        var bytes = self.walletID.bytes + self.shareCheck
        bytes += self.counter.littleEndianBytes + self.generation.littleEndianBytes
        bytes += self.history.first.littleEndianBytes + self.history.second.littleEndianBytes
        bytes += [1, self.platform == .iOS ? 1 : 0, 0, 0]
        return bytes + CRC32.of(bytes).littleEndianBytes
    }

    /// The contents of a slot.
    enum Kind: Hashable {
        case free, registered
        /// Parts of two writes, or bytes not written by this program.
        ///
        /// Treated as free.
        case torn
    }

    static func kind(of bytes: [UInt8], at offset: Int = 0) -> Kind {
        guard bytes.count >= offset + Self.byteCount else { return .torn }
        let body = bytes[offset..<(offset + Self.byteCount - 4)]
        let checksum = UInt32(littleEndian: bytes, at: offset + Self.byteCount - 4)
        if checksum == 0, body.allSatisfy({ $0 == 0 }) { return .free }
        // rule: load-torn-record-taken
        return CRC32.of(body) == checksum && bytes[offset + 56] == 1 ? .registered : .torn
    }

    /// Decodes the record of a registered wallet; returns nil for any other contents.
    init?(decoding bytes: [UInt8]) {
        guard Self.kind(of: bytes) == .registered, let walletID = WalletID(bytes[..<16]) else { return nil }
        self.walletID = walletID
        self.shareCheck = Array(bytes[16..<32])
        self.counter = UInt32(littleEndian: bytes, at: 32)
        self.generation = UInt32(littleEndian: bytes, at: 36)
        self.history = HistorySummary(
            first: UInt64(littleEndian: bytes, at: 40),
            second: UInt64(littleEndian: bytes, at: 48)
        )
        self.platform = bytes[57] == 1 ? .iOS : .android
    }

    init(_ wallet: NewWallet) {
        self.walletID = wallet.walletID
        self.platform = wallet.platform
        self.shareCheck = wallet.shareCheck
        self.counter = wallet.counter
        self.generation = wallet.generation
    }
}

/// CRC-32 (IEEE 802.3).
///
/// It detects a torn record but not tampering.
enum CRC32 {
    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { rest, _ in rest & 1 == 1 ? 0xEDB8_8320 ^ rest >> 1 : rest >> 1 }
    }

    static func of(_ bytes: some Sequence<UInt8>) -> UInt32 {
        let table = self.table
        var rest = ~UInt32(0)
        for byte in bytes { rest = table[Int(UInt8(truncatingIfNeeded: rest) ^ byte)] ^ rest >> 8 }
        return ~rest
    }
}
