internal import HistoryChecker
internal import Vocabulary

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
        case free
        case registered
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
        return CRC32.of(body) == checksum && bytes[offset + 56] == 1 ? .registered : .torn
    }

    /// Decodes the record of a registered wallet.
    ///
    /// Returns nil for any other contents.
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
