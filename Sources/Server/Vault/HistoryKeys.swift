internal import Secrets
internal import Vocabulary

/// One version of the keys that prove history: the audit log's and the epochs'.
///
/// The newest version makes MACs, and older ones only verify. An attacker with an older copy of the key file can
/// therefore add nothing to a log that a newer version continues (``VersionedMAC``).
///
/// A class because versions are kept in collections, which cannot hold noncopyable values.
final class HistoryKeys: Sendable {
    /// The version of the keys that come from the index root, as in key files of format 1.
    static let ofIndex: UInt32 = 0

    /// The number of the sealing version that was added with it, or ``ofIndex``.
    let number: UInt32
    private let root: SecretBytes
    private let audit: SecretBytes
    private let epoch: SecretBytes

    /// Returns nil if the root does not have the length of a key.
    init?(number: UInt32, root: consuming SecretBytes) {
        guard root.count == KeyVersion.byteCount else { return nil }
        self.number = number
        self.audit = root.hkdfSHA256(info: KeyRing.info(for: .auditLog), count: 32)
        self.epoch = root.hkdfSHA256(info: KeyRing.info(for: .storeEpoch), count: 32)
        self.root = root
        self.root.keepOutOfSwap()
        self.audit.keepOutOfSwap()
        self.epoch.keepOutOfSwap()
    }

    /// Returns the MAC with the version's number before it.
    func mac(_ message: [UInt8], for use: MACUse) -> [UInt8] {
        let mac: [UInt8] =
            switch use {
            case .auditLog: self.audit.hmacSHA256(message)
            case .storeEpoch: self.epoch.hmacSHA256(message)
            case .enrollmentToken, .recoveryCodeIndex, .backup, .attemptRecords:
                preconditionFailure("not a use of these keys")
            }
        return VersionedMAC(key: self.number, mac: mac).bytes
    }

    /// The root as text, for the key file only.
    func hexadecimal() -> SecretBytes { self.root.hexadecimal() }

    var check: [UInt8] { KeyRing.check(of: self.root) }
}

/// A MAC with the version of its key: the number in four bytes before the MAC, none for version 0.
///
/// Versions only rise along a chain of MACs; a reader rejects one that falls (``continues(_:)``).
package struct VersionedMAC: Hashable, Sendable {
    package static let macByteCount = 32
    private static let numberByteCount = 4

    package let key: UInt32
    /// 32 bytes.
    package let mac: [UInt8]

    init(key: UInt32, mac: [UInt8]) {
        self.key = key
        self.mac = mac
    }

    /// Returns nil if bytes do not have the length of a MAC, or name version 0.
    package init?(_ bytes: [UInt8]) {
        switch bytes.count {
        case Self.macByteCount: self.init(key: HistoryKeys.ofIndex, mac: bytes)
        case Self.numberByteCount + Self.macByteCount:
            let number = UInt32(truncatingIfNeeded: bytes[..<Self.numberByteCount].bigEndian)
            guard number > HistoryKeys.ofIndex else { return nil }
            self.init(key: number, mac: Array(bytes[Self.numberByteCount...]))
        default: return nil
        }
    }

    /// Reads `KEY-DIGITS`, the form of ``description``; each MAC has one spelling.
    package init?(text bytes: some Collection<UInt8>) {
        let text = String(decoding: bytes, as: UTF8.self)
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let key = UInt32(parts[0]), let mac = [UInt8](hex: String(parts[1])),
            mac.count == Self.macByteCount
        else { return nil }
        self.init(key: key, mac: mac)
        guard self.description == text else { return nil }
    }

    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        if self.key != HistoryKeys.ofIndex {
            bytes.append(bigEndian: UInt64(self.key), byteCount: Self.numberByteCount)
        }
        return bytes + self.mac
    }

    package var description: String { "\(self.key)-\(self.mac.hex)" }

    /// Whether this MAC may follow another one in a chain: its key is the same or a newer one.
    package func continues(_ previous: VersionedMAC?) -> Bool { self.key >= previous?.key ?? 0 }
}
