internal import Secrets
internal import Vocabulary

/// One version of the keys that protect the history in the audit log and the epochs.
///
/// MACs are made with the newest version. Older versions only verify. An attacker with an older copy of the key file
/// therefore cannot add anything to a log that has entries from a newer version (``VersionedMAC``).
///
/// This is a class because versions are stored in collections, which cannot hold noncopyable values.
final class HistoryKeys: Sendable {
    /// The version of the keys derived from the index root, as in key files of format 1.
    static let ofIndex: UInt32 = 0

    /// The number of the sealing version that was added at the same time, or ``ofIndex``.
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

    /// Returns the MAC, preceded by the version number.
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

    /// The root as text.
    ///
    /// Only for use in the key file.
    func hexadecimal() -> SecretBytes { self.root.hexadecimal() }

    var check: [UInt8] { KeyRing.check(of: self.root) }
}

/// A MAC with the version of its key, which is stored in the four bytes before the MAC, or omitted for version 0.
///
/// Versions can only increase along a chain of MACs. Readers reject a chain in which a version decreases
/// (``continues(_:)``).
package struct VersionedMAC: Hashable, Sendable {
    package static let macByteCount = 32
    private static let numberByteCount = 4

    package let key: UInt32
    /// The MAC, which is 32 bytes long.
    package let mac: [UInt8]

    init(key: UInt32, mac: [UInt8]) {
        self.key = key
        self.mac = mac
    }

    /// Returns nil if the bytes do not have the length of a MAC, or if the version is 0.
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

    /// Parses `KEY-DIGITS`, the format of ``description``.
    ///
    /// There is only one valid way to write each MAC.
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

    /// Returns whether this MAC may follow another one in a chain, which requires that its key is not older.
    package func continues(_ previous: VersionedMAC?) -> Bool { self.key >= previous?.key ?? 0 }
}
