package import Secrets
internal import Synchronization
package import Vocabulary

/// The keys of one wallet, under which its PIN key, its shares and its deletion code are sealed.
///
/// There is one key for each version of the vault's keys that a value of the wallet needs. A vault derives them from
/// the wallet's id (``Vault/keys(of:opening:)``). They open no value of another wallet and do not reveal the vault's
/// keys. A wallet's key seals a few thousand values in its lifetime, far below the 2^32 that would have to be counted
/// (NIST SP 800-38D §8.3).
package final class WalletKeys: Sendable {
    package let wallet: WalletID
    /// The keys in ascending order of their versions, or nil once they have been wiped.
    private let keys: Mutex<[WalletKey]?>

    init(of wallet: WalletID, _ keys: [WalletKey]?) {
        self.wallet = wallet
        self.keys = Mutex(keys)
    }

    /// Returns keys that open nothing, for a wallet that no data is released to.
    package static func none(of wallet: WalletID) -> WalletKeys { WalletKeys(of: wallet, nil) }

    /// Creates a random key, for a wallet that does not exist.
    package static func decoy() -> WalletKeys {
        WalletKeys(of: .random(), [WalletKey(version: 1, .random(count: WalletKey.byteCount))])
    }

    /// Seals a value with the newest version, in the format version ‖ nonce ‖ ciphertext ‖ tag.
    ///
    /// Values of equal length have sealed forms of equal length.
    ///
    /// - Throws: ``VaultError/wiped`` only.
    package func seal(_ secret: borrowing SecretBytes, as field: VaultField) throws(VaultError) -> [UInt8] {
        guard let key = self.keys.withLock({ $0?.last }) else { throw .wiped }
        return key.seal(secret, field.associatedData(of: self.wallet))
    }

    /// Opens a value sealed with ``seal(_:as:)``, using the version that it names.
    package func open(_ sealed: [UInt8], as field: VaultField) throws(VaultError) -> SecretBytes {
        guard let key = self.key(of: sealed) else { throw self.areWiped ? .wiped : .noKey }
        return try key.open(sealed, field.associatedData(of: self.wallet))
    }

    /// Returns whether these keys include the version that a value was sealed with.
    package func hasKey(of sealed: [UInt8]) -> Bool { self.key(of: sealed) != nil }

    private func key(of sealed: [UInt8]) -> WalletKey? {
        let version = SealedValue.keyVersion(of: sealed)
        return self.keys.withLock { $0?.first { $0.version == version } }  // rule: wallet-key-of-any-version
    }

    /// Adds the versions that these keys lack, unless they have been wiped.
    package func add(_ other: WalletKeys) {
        precondition(other.wallet == self.wallet, "keys are those of one wallet")
        let new = other.keys.withLock { $0 ?? [] }
        self.keys.withLock { keys in
            let lacking = new.filter { key in keys?.contains { $0.version == key.version } == false }
            keys = keys.map { ($0 + lacking).sorted { $0.version < $1.version } }
        }
    }

    /// The version of the newest key, or nil if the keys have been wiped.
    package var newest: UInt32? { self.keys.withLock { $0?.last?.version } }

    /// Whether the keys have been wiped, or never existed.
    package var areWiped: Bool { self.keys.withLock { $0 == nil } }

    /// Wipes the keys, after which no value opens.
    package func wipe() { self.keys.withLock { $0 = nil } }
}

/// The key of one wallet and one version.
///
/// This is a class because keys are stored in an array, which cannot hold noncopyable values. Its bytes are wiped when
/// it is released. It keeps no expanded key, since most sessions open one or two values.
final class WalletKey: Sendable {
    static let byteCount = 32

    let version: UInt32
    private let key: SecretBytes

    init(version: UInt32, _ key: consuming SecretBytes) {
        self.version = version
        self.key = key
    }

    func seal(_ secret: borrowing SecretBytes, _ associatedData: [UInt8]) -> [UInt8] {
        self.version.bigEndianBytes + self.key.seal(secret, associatedData: associatedData)
    }

    /// Opens a sealed value, ignoring the version at the beginning.
    func open(_ sealed: [UInt8], _ associatedData: [UInt8]) throws(VaultError) -> SecretBytes {
        let value = Array(sealed.dropFirst(SealedValue.prefixByteCount))
        do throws(SealBroken) { return try self.key.open(value, associatedData: associatedData) } catch {
            throw .notOurs
        }
    }
}

/// The format of sealed values: the version of the vault's keys in big-endian order, and the ciphertext.
enum SealedValue {
    static let prefixByteCount = 4

    /// Returns the version that a value was sealed with, or nil if the value is too short.
    static func keyVersion(of sealed: [UInt8]) -> UInt32? {
        guard sealed.count >= self.prefixByteCount else { return nil }
        return sealed.prefix(self.prefixByteCount).reduce(0) { $0 << 8 | UInt32($1) }
    }
}

extension VaultField {
    /// Returns field name ‖ 0x00 ‖ wallet id, which ensures that a value can only be opened for its wallet and field.
    func associatedData(of wallet: WalletID) -> [UInt8] {
        let name = self.rawValue.utf8
        var bytes: [UInt8] = []
        bytes.reserveCapacity(name.count + 1 + wallet.bytes.count)
        bytes.append(contentsOf: name)
        bytes.append(0)
        bytes.append(contentsOf: wallet.bytes)
        return bytes
    }
}
