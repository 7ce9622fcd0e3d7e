internal import Vocabulary

/// One wallet in the file: what the server chose, and what changes; all else comes from the seed.
///
///     offset   0  wallet id                 16
///             16  share's check value       16   its first half
///             32  counter                    4   App Attest proofs made, without the header's base
///             36  PIN generation             4
///             40  history                   16   as the run's oracle keeps it; zeros where there is none
///             56  state                      1   0 free, 1 registered
///             57  platform                   1   0 Android, 1 iOS
///             58  zeros                      2
///             60  CRC-32 of the above        4
///
/// 64 bytes, so that no record lies across two sectors of a disk. A slot that was never written is all zeros.
struct FleetRecord: Hashable {
    var walletID: WalletID
    var platform: Platform
    var shareCheck: [UInt8]
    var counter: UInt32 = 0
    var generation: UInt32 = 0
    var history: WalletHistoryBytes?

    static let byteCount = 64
    static let shareCheckByteCount = 16

    var encoded: [UInt8] {
        var bytes = self.walletID.bytes + self.shareCheck
        bytes += self.counter.littleEndianBytes + self.generation.littleEndianBytes
        bytes += (self.history?.first ?? 0).littleEndianBytes + (self.history?.second ?? 0).littleEndianBytes
        bytes += [1, self.platform == .iOS ? 1 : 0, 0, 0]
        return bytes + CRC32.of(bytes).littleEndianBytes
    }

    /// What stands in a slot.
    enum Kind: Hashable {
        case free
        case registered
        /// Part of one write and part of another, or nothing that this program wrote: as good as free.
        case torn
    }

    static func kind(of bytes: [UInt8], at offset: Int = 0) -> Kind {
        guard bytes.count >= offset + Self.byteCount else { return .torn }
        let body = bytes[offset..<(offset + Self.byteCount - 4)]
        let checksum = UInt32(littleEndian: bytes, at: offset + Self.byteCount - 4)
        if checksum == 0, body.allSatisfy({ $0 == 0 }) { return .free }
        return CRC32.of(body) == checksum && bytes[offset + 56] == 1 ? .registered : .torn
    }

    /// Reads a registered wallet's record; nil for any other.
    init?(decoding bytes: [UInt8]) {
        guard Self.kind(of: bytes) == .registered, let walletID = WalletID(bytes[..<16]) else { return nil }
        self.walletID = walletID
        self.shareCheck = Array(bytes[16..<32])
        self.counter = UInt32(littleEndian: bytes, at: 32)
        self.generation = UInt32(littleEndian: bytes, at: 36)
        let history = WalletHistoryBytes(
            first: UInt64(littleEndian: bytes, at: 40),
            second: UInt64(littleEndian: bytes, at: 48)
        )
        self.history = history.isNone ? nil : history
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

/// What a run knows of a wallet's past, sixteen bytes whose meaning is the oracle's; not all of them zero.
package struct WalletHistoryBytes: Hashable, Sendable {
    package var first: UInt64
    package var second: UInt64

    package init(first: UInt64, second: UInt64) {
        self.first = first
        self.second = second
    }

    var isNone: Bool { self.first == 0 && self.second == 0 }
}
