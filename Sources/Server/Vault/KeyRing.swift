internal import Secrets
internal import Vocabulary

/// One version of the vault's keys: everything is derived from 32 random bytes, for each use apart.
///
/// A class because versions are kept in collections, which cannot hold what cannot be copied.
final class KeyVersion: Sendable {
    let number: UInt32
    private let root: SecretBytes
    private let sealing: SealingKey
    /// Of which every wallet's own key for its identity is derived.
    private let identities: SecretBytes
    private let enrollmentToken: SecretBytes

    static let byteCount = 32

    /// Nil where the root does not have 32 bytes.
    init?(number: UInt32, root: consuming SecretBytes) {
        guard root.count == Self.byteCount else { return nil }
        self.number = number
        self.sealing = SealingKey(root.hkdfSHA256(info: Array("remote-pin/1 vault seal".utf8), count: 32))
        self.identities = root.hkdfSHA256(info: Array("remote-pin/1 vault seal identity".utf8), count: 32)
        self.enrollmentToken = root.hkdfSHA256(info: KeyRing.info(for: .enrollmentToken), count: 32)
        self.root = root
    }

    /// Key id ‖ nonce ‖ ciphertext ‖ tag.
    func seal(_ secret: borrowing SecretBytes, as field: VaultField, of wallet: WalletID) -> [UInt8] {
        let sealed = self.key(of: field, wallet).seal(secret, associatedData: Self.associatedData(field, wallet))
        return SealedValue.prefix(keyVersion: self.number) + sealed
    }

    /// Opens what stands behind the key id.
    func open(_ sealed: [UInt8], as field: VaultField, of wallet: WalletID) throws(SealBroken) -> SecretBytes {
        let (value, data) = (sealed.dropFirst(SealedValue.prefixByteCount), Self.associatedData(field, wallet))
        guard !Self.isCounted(field) else { return try self.sealing.open(value, associatedData: data) }
        do throws(SealBroken) {
            return try self.key(of: field, wallet).open(value, associatedData: data)
        } catch {
            // Sealed before identities had keys of their own.
            return try self.sealing.open(value, associatedData: data)
        }
    }

    /// Whether all wallets' values of a field are sealed by one key, whose use is counted (``SealCount``).
    ///
    /// An identity is sealed whenever its wallet asks for another PIN, before that is judged: with a key of the wallet's own
    /// nobody uses up another's, and a wallet that asked without end would have to for years.
    static func isCounted(_ field: VaultField) -> Bool { field != .identity }

    private func key(of field: VaultField, _ wallet: WalletID) -> SealingKey {
        Self.isCounted(field) ? self.sealing : SealingKey(self.identities.hkdfSHA256(info: wallet.bytes, count: 32))
    }

    /// Field name ‖ 0x00 ‖ wallet id: one wallet's value opens as no other's, and as no other field.
    private static func associatedData(_ field: VaultField, _ wallet: WalletID) -> [UInt8] {
        let name = field.rawValue.utf8
        var bytes: [UInt8] = []
        bytes.reserveCapacity(name.count + 1 + wallet.bytes.count)
        bytes.append(contentsOf: name)
        bytes.append(0)
        bytes.append(contentsOf: wallet.bytes)
        return bytes
    }

    func tokenMAC(_ message: [UInt8]) -> [UInt8] { self.enrollmentToken.hmacSHA256(message) }

    /// The root as text, for the key file alone.
    func hexadecimal() -> SecretBytes { self.root.hexadecimal() }

    /// Four bytes that show a mistyped or damaged key, and by which two files can be compared without showing it.
    var check: [UInt8] { KeyRing.check(of: self.root) }
}

/// All keys of one key file.
final class KeyRing: Sendable {
    /// Ascending by number.
    let versions: [KeyVersion]
    let active: KeyVersion
    private let indexRoot: SecretBytes
    private let index: SecretBytes
    /// From the same root, since none of them is ever rotated.
    private let audit: SecretBytes
    private let epoch: SecretBytes
    private let backup: SecretBytes

    /// Nil where a length is wrong, the numbers do not ascend or the active one is missing.
    init?(versions: [KeyVersion], active: UInt32, index: consuming SecretBytes) {
        guard let activeVersion = versions.first(where: { $0.number == active }), index.count == KeyVersion.byteCount,
            zip(versions, versions.dropFirst()).allSatisfy({ $0.number < $1.number })
        else { return nil }
        self.versions = versions
        self.active = activeVersion
        self.index = index.hkdfSHA256(info: Self.info(for: .recoveryCodeIndex), count: 32)
        self.audit = index.hkdfSHA256(info: Self.info(for: .auditLog), count: 32)
        self.epoch = index.hkdfSHA256(info: Self.info(for: .storeEpoch), count: 32)
        self.backup = index.hkdfSHA256(info: Self.info(for: .backup), count: 32)
        self.indexRoot = index
    }

    /// Whether these keys may take the place of `old` ones: the same that are never rotated, no known version changed, and
    /// none that seals is lost.
    func continues(_ old: KeyRing) -> Bool {
        let probe = Array("remote-pin/1 same vault".utf8)
        guard constantTimeEqual(self.index.hmacSHA256(probe), old.index.hmacSHA256(probe)),
            self.active.number >= old.active.number, self.version(old.active.number) != nil
        else { return false }
        return old.versions.allSatisfy { known in
            self.version(known.number).map { constantTimeEqual($0.tokenMAC(probe), known.tokenMAC(probe)) } ?? true
        }
    }

    func version(_ number: UInt32) -> KeyVersion? { self.versions.first { $0.number == number } }

    /// The version before the active one; its tokens are still taken, until they expire.
    var previous: KeyVersion? { self.versions.last { $0.number < self.active.number } }

    /// The MAC of a use whose key is never rotated.
    func lastingMAC(_ message: [UInt8], for use: MACUse) -> [UInt8] {
        switch use {
        case .recoveryCodeIndex: self.index.hmacSHA256(message)
        case .auditLog: self.audit.hmacSHA256(message)
        case .storeEpoch: self.epoch.hmacSHA256(message)
        case .backup: self.backup.hmacSHA256(message)
        case .enrollmentToken: preconditionFailure("tokens' keys have versions")
        }
    }

    /// The index key as text, for the key file alone.
    func indexHexadecimal() -> SecretBytes { self.indexRoot.hexadecimal() }

    var indexCheck: [UInt8] { Self.check(of: self.indexRoot) }

    /// A ring with one more version, which is the active one.
    ///
    /// The index key stays: what was looked up by it must be found again.
    func adding(_ root: consuming SecretBytes) -> KeyRing? {
        let number = (self.versions.last?.number ?? 0) + 1
        let index = self.indexRoot.withBytes { SecretBytes(copying: $0) }
        guard let version = KeyVersion(number: number, root: root) else { return nil }
        return KeyRing(versions: self.versions + [version], active: number, index: index)
    }

    /// A ring without some versions; nil where the one that seals is among them.
    func removing(_ numbers: Set<UInt32>) -> KeyRing? {
        let index = self.indexRoot.withBytes { SecretBytes(copying: $0) }
        let versions = self.versions.filter { !numbers.contains($0.number) }
        return KeyRing(versions: versions, active: self.active.number, index: index)
    }

    static func info(for use: MACUse) -> [UInt8] { Array("remote-pin/1 vault mac \(use.rawValue)".utf8) }

    static func check(of root: borrowing SecretBytes) -> [UInt8] {
        root.hkdfSHA256(info: Array("remote-pin/1 vault check".utf8), count: 4).exposedBytes()
    }
}

/// The form of what the vault seals.
enum SealedValue {
    static let prefixByteCount = 4

    /// The key's id: its version, big-endian.
    static func prefix(keyVersion: UInt32) -> [UInt8] {
        stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: keyVersion >> UInt32($0)) }
    }

    /// Which version sealed a value; nil where it is too short to say.
    static func keyVersion(of sealed: [UInt8]) -> UInt32? {
        guard sealed.count >= self.prefixByteCount else { return nil }
        return sealed.prefix(self.prefixByteCount).reduce(0) { $0 << 8 | UInt32($1) }
    }
}
