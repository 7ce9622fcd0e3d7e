internal import Secrets
internal import Statements
internal import Vocabulary

/// One version of the vault's keys, with a separate key for each use.
///
/// All are derived from 32 random bytes. This is a class because versions are stored in collections, which cannot hold
/// noncopyable values.
final class KeyVersion: Sendable {
    let number: UInt32
    private let root: SecretBytes
    /// The key that the keys of each wallet are derived from.
    private let wallets: HMACKey
    /// The key that the key of each wallet's identity is derived from.
    ///
    /// It differs from the wallet's keys, so that a device's proof is verified without them.
    private let identities: HMACKey
    private let enrollmentToken: SecretBytes
    /// Signs receipts while this version is active.
    let receipts: ReceiptSigningKey

    static let byteCount = 32

    /// Returns nil if the root is not 32 bytes long.
    init?(number: UInt32, root: consuming SecretBytes) {
        guard root.count == Self.byteCount else { return nil }
        self.number = number
        self.wallets = HMACKey(extractedFrom: root)
        self.identities = HMACKey(
            extractedFrom: root.hkdfSHA256(info: Array("remote-pin/1 vault seal identity".utf8), count: 32)
        )
        self.enrollmentToken = root.hkdfSHA256(info: KeyRing.info(for: .enrollmentToken), count: 32)
        let seed = root.hkdfSHA256(
            info: Array("remote-pin/1 vault receipt key".utf8),
            count: ReceiptSigningKey.seedByteCount
        )
        self.receipts = ReceiptSigningKey(id: number, seed: seed)
        self.root = root
        self.root.keepOutOfSwap()
        self.wallets.keepOutOfSwap()
        self.identities.keepOutOfSwap()
        self.enrollmentToken.keepOutOfSwap()
    }

    /// Returns the key that seals and opens the shares and the deletion code of a wallet.
    func key(of wallet: WalletID) -> WalletKey {
        let info = Array("remote-pin/1 vault wallet".utf8) + [0] + wallet.bytes  // rule: vault-wallets-share-a-key
        return WalletKey(version: self.number, self.wallets.derive(info: info))
    }

    /// Returns the key that seals and opens the identity of a wallet.
    ///
    /// An identity is sealed each time its wallet asks for a PIN change, before the PIN is judged. Since each wallet
    /// has its own key for this, a client cannot exhaust the key of another wallet, and exhausting its own would take
    /// years.
    func identityKey(of wallet: WalletID) -> WalletKey {
        WalletKey(version: self.number, self.identities.derive(info: wallet.bytes))
    }

    func tokenMAC(_ message: [UInt8]) -> [UInt8] { self.enrollmentToken.hmacSHA256(message) }

    /// The root as text.
    ///
    /// Only for use in the key file.
    func hexadecimal() -> SecretBytes { self.root.hexadecimal() }

    /// Four bytes that reveal a mistyped or damaged key.
    ///
    /// They also allow comparing two files without showing the keys.
    var check: [UInt8] { KeyRing.check(of: self.root) }
}

/// All keys of one key file.
final class KeyRing: Sendable {
    /// The versions in ascending order.
    let versions: [KeyVersion]
    let active: KeyVersion
    /// The versions in ascending order, starting with ``HistoryKeys/ofIndex``.
    ///
    /// The last one makes MACs.
    let history: [HistoryKeys]
    /// The receipt keys of all versions, in ascending order, each signed by its predecessor.
    ///
    /// A link is kept even after its version is removed, because a wallet that pinned a key long ago follows the links
    /// to the newest one.
    let receiptKeys: [ReceiptKeyLink]
    private let indexRoot: SecretBytes
    private let index: SecretBytes
    /// The key for backup labels, derived from the index root, which is never rotated.
    private let backup: SecretBytes
    private let attempts: SecretBytes

    /// Returns nil if a length is wrong, the numbers are not in ascending order, or the active version is missing.
    ///
    /// - Parameters:
    ///   - history: The versions of the history keys after the first one. If any exist, the last one has the same
    ///     number as the last sealing version.
    ///   - links: The known links. Missing ones are created if the predecessor's key is present.
    init?(
        versions: [KeyVersion],
        active: UInt32,
        index: consuming SecretBytes,
        history: [HistoryKeys],
        links: [ReceiptKeyLink] = []
    ) {
        guard let activeVersion = versions.first(where: { $0.number == active }), index.count == KeyVersion.byteCount,
            zip(versions, versions.dropFirst()).allSatisfy({ $0.number < $1.number }),
            let first = HistoryKeys(number: HistoryKeys.ofIndex, root: index.withBytes { SecretBytes(copying: $0) }),
            history.isEmpty || history.last?.number == versions.last?.number,
            zip([first] + history, history).allSatisfy({ $0.number < $1.number })
        else { return nil }
        self.versions = versions
        self.active = activeVersion
        self.history = [first] + history
        guard let receiptKeys = Self.receiptKeys(of: versions, known: links) else { return nil }
        self.receiptKeys = receiptKeys
        self.index = index.hkdfSHA256(info: Self.info(for: .recoveryCodeIndex), count: 32)
        self.backup = index.hkdfSHA256(info: Self.info(for: .backup), count: 32)
        self.attempts = index.hkdfSHA256(info: Self.info(for: .attemptRecords), count: 32)
        self.indexRoot = index
        self.indexRoot.keepOutOfSwap()
        self.index.keepOutOfSwap()
        self.backup.keepOutOfSwap()
        self.attempts.keepOutOfSwap()
    }

    /// Adds the missing links.
    ///
    /// Returns nil if the key in a known link differs from that of its version.
    private static func receiptKeys(
        of versions: [KeyVersion],
        known: [ReceiptKeyLink]
    ) -> [ReceiptKeyLink]? {
        var links = known
        for version in versions {
            let key = version.receipts.key
            if let link = links.first(where: { $0.key.id == key.id }) {
                guard link.key == key else { return nil }
                continue
            }
            let before = versions.first { $0.number + 1 == key.id }
            guard let link = before.map({ $0.receipts.link(to: key) }) ?? ReceiptKeyLink(key, endorsedBy: nil) else {
                return nil
            }
            links.append(link)
        }
        return links.sorted { $0.key.id < $1.key.id }
    }

    /// Returns whether these keys may replace `old`.
    ///
    /// The keys that are never rotated must be the same, no known version may have changed, and no version from the
    /// sealing one on may be missing: a newer one is in use once this server's lease has named it.
    func continues(_ old: KeyRing) -> Bool {
        let probe = Array("remote-pin/1 same vault".utf8)
        guard constantTimeEqual(self.index.hmacSHA256(probe), old.index.hmacSHA256(probe)),
            self.active.number >= old.active.number,
            old.versions.allSatisfy({ $0.number < old.active.number || self.version($0.number) != nil })
        else { return false }
        let hasHistory = old.history.allSatisfy { known in
            self.history.contains { fresh in
                fresh.number == known.number
                    && constantTimeEqual(fresh.mac(probe, for: .auditLog), known.mac(probe, for: .auditLog))
            }
        }
        return hasHistory
            && old.versions.allSatisfy { known in
                self.version(known.number).map { constantTimeEqual($0.tokenMAC(probe), known.tokenMAC(probe)) } ?? true
            }
    }

    func version(_ number: UInt32) -> KeyVersion? { self.versions.first { $0.number == number } }

    /// The versions whose tokens are accepted: the active one, its predecessor until those tokens expire, and newer
    /// ones, with which another server of the store may seal already.
    var tokenVersions: [KeyVersion] {
        let previous = self.versions.last { $0.number < self.active.number } ?? self.active
        return self.versions.filter { $0.number >= previous.number }
    }

    /// Returns a MAC for a use whose key is never rotated.
    func lastingMAC(_ message: [UInt8], for use: MACUse) -> [UInt8] {
        switch use {
        case .recoveryCodeIndex: self.index.hmacSHA256(message)
        case .backup: self.backup.hmacSHA256(message)
        case .attemptRecords: self.attempts.hmacSHA256(message)
        case .enrollmentToken, .auditLog, .storeEpoch: preconditionFailure("keys of this use have versions")
        }
    }

    /// Returns a MAC made with the newest version of the history keys up to the active one.
    func historyMAC(_ message: [UInt8], for use: MACUse) -> [UInt8] {
        guard let newest = self.history.last(where: { $0.number <= self.active.number }) else {
            preconditionFailure("a ring has the version of its index")
        }
        return newest.mac(message, for: use)
    }

    /// Returns whether the MAC was made with the key version that it names.
    func isHistoryMAC(_ mac: [UInt8], of message: [UInt8], for use: MACUse) -> Bool {
        guard let named = VersionedMAC(mac), let keys = self.history.first(where: { $0.number == named.key }) else {
            return false
        }
        return constantTimeEqual(keys.mac(message, for: use), mac)
    }

    /// The index key as text.
    ///
    /// Only for use in the key file.
    func indexHexadecimal() -> SecretBytes { self.indexRoot.hexadecimal() }

    var indexCheck: [UInt8] { Self.check(of: self.indexRoot) }

    /// Returns a ring with an additional version of the sealing keys and the history keys.
    ///
    /// The index key does not change, because lookups that use it must keep working.
    func adding(
        _ root: consuming SecretBytes,
        history historyRoot: consuming SecretBytes,
        activating: Bool = true
    ) -> KeyRing? {
        let number = (self.versions.last?.number ?? 0) + 1
        let index = self.indexRoot.withBytes { SecretBytes(copying: $0) }
        guard let version = KeyVersion(number: number, root: root),
            let keys = HistoryKeys(number: number, root: historyRoot)
        else { return nil }
        return KeyRing(
            versions: self.versions + [version],
            active: activating ? number : self.active.number,
            index: index,
            history: Array(self.history.dropFirst() + [keys]),
            links: self.receiptKeys
        )
    }

    /// Returns a ring that seals with another version, or nil if it does not have that.
    func activating(_ number: UInt32) -> KeyRing? {
        KeyRing(
            versions: self.versions,
            active: number,
            index: self.indexRoot.withBytes { SecretBytes(copying: $0) },
            history: Array(self.history.dropFirst()),
            links: self.receiptKeys
        )
    }

    /// Returns a ring without the given sealing versions, or nil if the active one is among them.
    ///
    /// All versions of the history keys are kept, because old audit log entries must still be verifiable.
    func removing(_ numbers: Set<UInt32>) -> KeyRing? {
        let index = self.indexRoot.withBytes { SecretBytes(copying: $0) }
        let versions = self.versions.filter { !numbers.contains($0.number) }
        return KeyRing(
            versions: versions,
            active: self.active.number,
            index: index,
            history: Array(self.history.dropFirst()),
            links: self.receiptKeys
        )
    }

    static func info(for use: MACUse) -> [UInt8] { Array("remote-pin/1 vault mac \(use.rawValue)".utf8) }

    static func check(of root: borrowing SecretBytes) -> [UInt8] {
        root.hkdfSHA256(info: Array("remote-pin/1 vault check".utf8), count: 4).exposedBytes()
    }
}

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
