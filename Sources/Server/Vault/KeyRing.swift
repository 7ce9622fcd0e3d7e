internal import Secrets
internal import Statements
internal import Vocabulary

/// One version of the vault's keys, with a separate key for each use.
///
/// All are derived from one root. This is a class because versions are stored in collections, which cannot hold
/// noncopyable values.
final class KeyVersion: Sendable {
    /// The root, from which the keys of each wallet are derived.
    let root: KeyRoot
    /// The key that the key of each wallet's identity is derived from.
    ///
    /// It differs from the wallet's keys, so that a device's proof is verified without them.
    private let identities: HMACKey
    private let enrollmentToken: SecretBytes
    /// Signs receipts while this version is active.
    let receipts: ReceiptSigningKey

    init(_ root: KeyRoot) async throws(ModuleFailure) {
        self.root = root
        let info = Array("remote-pin/1 vault seal identity".utf8)
        self.identities = HMACKey(extractedFrom: try await root.derive(info: info))
        self.enrollmentToken = try await root.derive(info: KeyRing.info(for: .enrollmentToken))
        let seed = try await root.derive(
            info: Array("remote-pin/1 vault receipt key".utf8),
            count: ReceiptSigningKey.seedByteCount
        )
        self.receipts = ReceiptSigningKey(id: root.name.number, seed: seed)
        self.identities.keepOutOfSwap()
        self.enrollmentToken.keepOutOfSwap()
    }

    var number: UInt32 { self.root.name.number }

    /// Returns the key that seals and opens the PIN key, the shares and the deletion code of a wallet.
    func key(of wallet: WalletID) async throws(ModuleFailure) -> WalletKey {
        let info = Array("remote-pin/1 vault wallet".utf8) + [0] + wallet.bytes  // rule: vault-wallets-share-a-key
        return WalletKey(version: self.number, try await self.root.derive(info: info))
    }

    /// Returns the key that seals and opens the outer layer of a wallet's identity.
    ///
    /// An identity is sealed each time its wallet asks for a PIN change, before the PIN is judged. Since each wallet
    /// has its own key for this, a client cannot exhaust the key of another wallet, and exhausting its own would take
    /// years.
    func identityKey(of wallet: WalletID) -> WalletKey {
        WalletKey(version: self.number, self.identities.derive(info: wallet.bytes))
    }

    func tokenMAC(_ message: [UInt8]) -> [UInt8] { self.enrollmentToken.hmacSHA256(message) }
}

/// All keys of one key file.
final class KeyRing: Sendable {
    /// The lines of the file, with the receipt keys of all versions.
    let lines: KeyFileLines
    /// The versions in ascending order.
    let versions: [KeyVersion]
    let active: KeyVersion
    /// The versions in ascending order; the last one up to the active version makes MACs.
    private let history: [HistoryKeys]
    private let index: SecretBytes
    /// The key for backup labels, derived from the index root, which is never rotated.
    private let backup: SecretBytes
    private let attempts: SecretBytes

    /// Derives the keys that are kept, once the roots in the module were compared with the file.
    ///
    /// - Parameter known: Keys that are derived already.
    init(_ lines: KeyFileLines, known: KeyRing? = nil) async throws(KeyFileError) {
        try await lines.compareWithModule()
        var (versions, history): ([KeyVersion], [HistoryKeys]) = ([], [])
        do throws(ModuleFailure) {
            for root in lines.versions {
                if let version = known?.version(root.name.number), version.root.isSame(as: root) {
                    versions.append(version)
                } else {
                    versions.append(try await KeyVersion(root))
                }
            }
            for root in lines.history { history.append(try await HistoryKeys(root)) }
            self.index = try await lines.index.derive(info: Self.info(for: .recoveryCodeIndex))
            self.backup = try await lines.index.derive(info: Self.info(for: .backup))
            self.attempts = try await lines.index.derive(info: Self.info(for: .attemptRecords))
        } catch {
            throw lines.unreachable
        }
        guard lines.areInOrder, let active = versions.first(where: { $0.number == lines.active }),
            let links = Self.receiptKeys(of: versions, known: lines.links)
        else { throw .damaged(lines.path, line: lines.count) }
        (self.versions, self.history, self.active) = (versions, history, active)
        var complete = lines
        complete.links = links
        self.lines = complete
        self.index.keepOutOfSwap()
        self.backup.keepOutOfSwap()
        self.attempts.keepOutOfSwap()
    }

    /// The receipt keys of all versions, in ascending order, each signed by its predecessor.
    ///
    /// A link is kept even after its version is removed, because a wallet that pinned a key long ago follows the links
    /// to the newest one.
    var receiptKeys: [ReceiptKeyLink] { self.lines.links }

    /// Adds the missing links.
    ///
    /// Returns nil if the key in a known link differs from that of its version, or the key before a missing one is not
    /// there to sign it.
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

    /// The roots in the module from which the keys of wallets are derived.
    var moduleKeys: [KeyRoot] { self.versions.map(\.root).filter(\.isInModule) }

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
            preconditionFailure("a version has history keys")
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

    static func info(for use: MACUse) -> [UInt8] { Array("remote-pin/1 vault mac \(use.rawValue)".utf8) }
}

/// One version of the keys that protect the history in the audit log and the epochs.
///
/// MACs are made with the newest version. Older versions only verify. An attacker with an older copy of the key file
/// therefore cannot add anything to a log that has entries from a newer version (``VersionedMAC``).
///
/// This is a class because versions are stored in collections, which cannot hold noncopyable values.
final class HistoryKeys: Sendable {
    /// The number of the sealing version that was added at the same time.
    let number: UInt32
    private let audit: SecretBytes
    private let epoch: SecretBytes

    init(_ root: KeyRoot) async throws(ModuleFailure) {
        self.number = root.name.number
        self.audit = try await root.derive(info: KeyRing.info(for: .auditLog))
        self.epoch = try await root.derive(info: KeyRing.info(for: .storeEpoch))
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
}

/// A MAC with the version of its key, which is stored in the four bytes before the MAC.
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

    /// Returns nil if the bytes do not have the length of a MAC with its version.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.numberByteCount + Self.macByteCount else { return nil }
        let number = UInt32(truncatingIfNeeded: bytes[..<Self.numberByteCount].bigEndian)
        self.init(key: number, mac: Array(bytes[Self.numberByteCount...]))
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

    package var bytes: [UInt8] { self.key.bigEndianBytes + self.mac }

    package var description: String { "\(self.key)-\(self.mac.hex)" }

    /// Returns whether this MAC may follow another one in a chain, which requires that its key is not older.
    package func continues(_ previous: VersionedMAC?) -> Bool { self.key >= previous?.key ?? 0 }
}
