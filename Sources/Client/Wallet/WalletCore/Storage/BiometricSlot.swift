internal import DeviceInterface
internal import Secrets
internal import Statements
internal import Vocabulary

/// The data key, sealed under the keychain item that a prompt releases and the presence share that
/// the server gives to an active wallet (safe-biometric.md).
struct BiometricSlot: Codable, Hashable, Sendable {
    /// The id of the keychain item; random for each item, so that a new item never replaces an old
    /// one and items left by a crash can be distinguished from the current one.
    var item: StoredID<KeychainItemKind>
    /// The means that open the item.
    var method: StoredMethod
    var slot: StoredBytes
    /// True in the safe mode: the slot of every PIN pair is also sealed under the item.
    ///
    /// One flag for all pairs, written together with them, so that no crash leaves only some of
    /// them sealed.
    var guardsPINSlots: Bool

    /// Seals the data key.
    ///
    /// Returns nil if the result does not open again; nothing may depend on such a slot.
    static func make(
        item: OpenedItem,
        method: UnlockMethod,
        dataKey: borrowing SecretBytes,
        share: Share,
        walletID: WalletID
    ) -> BiometricSlot? {
        let key = SlotKeys.biometricSlot(item: item.secret, share: share, walletID: walletID)
        let made = BiometricSlot(
            item: item.id,
            method: StoredMethod(method),
            slot: StoredBytes(key.seal(dataKey, associatedData: Self.label(item.id, walletID))),
            guardsPINSlots: false
        )
        guard let opened = try? made.open(with: item, share: share, walletID: walletID), opened.isEqual(to: dataKey)
        else { return nil }
        return made
    }

    /// Returns the data key if item and presence share are the right ones.
    func open(with item: OpenedItem, share: Share, walletID: WalletID) throws(SealBroken) -> SecretBytes {
        let key = SlotKeys.biometricSlot(item: item.secret, share: share, walletID: walletID)
        return try key.open(self.slot.bytes, associatedData: Self.label(self.item, walletID))
    }

    private static func label(_ item: StoredID<KeychainItemKind>, _ walletID: WalletID) -> [UInt8] {
        Array("biometric slot".utf8) + [0] + walletID.bytes + item.value.bytes
    }
}

extension PINPair {
    /// Returns the pair with its slot also sealed under the item: unusable without the prompt, even
    /// with the PIN.
    func sealed(under item: OpenedItem, walletID: WalletID) -> PINPair {
        var pair = self
        let key = item.secret.hkdfSHA256(info: Self.sealInfo + walletID.bytes, count: 32)
        let slot = SecretBytes(copying: self.slot.bytes)
        pair.slot = StoredBytes(key.seal(slot, associatedData: self.id.value.bytes))
        return pair
    }

    /// Reverses ``sealed(under:walletID:)``.
    func unsealed(with item: OpenedItem, walletID: WalletID) throws(SealBroken) -> PINPair {
        var pair = self
        let key = item.secret.hkdfSHA256(info: Self.sealInfo + walletID.bytes, count: 32)
        pair.slot = StoredBytes(try key.open(self.slot.bytes, associatedData: self.id.value.bytes).exposedBytes())
        return pair
    }

    private static var sealInfo: [UInt8] { Array("remote-pin/1 sealed pin slot".utf8) }
}

/// The secret of a keychain item that a prompt released; held in memory only, wiped with the last
/// reference.
final class OpenedItem {
    let id: StoredID<KeychainItemKind>
    let secret: SecretBytes

    /// The length of the secret; an item of another length was not created by the wallet.
    static let byteCount = 32

    init?(_ id: StoredID<KeychainItemKind>, _ secret: consuming SecretBytes) {
        guard secret.count == Self.byteCount else { return nil }
        self.id = id
        self.secret = secret
    }

    private init(new id: StoredID<KeychainItemKind>) {
        self.id = id
        self.secret = .random(count: Self.byteCount)
    }

    /// Creates a secret with a random id.
    static func random() -> OpenedItem { OpenedItem(new: StoredID(.random())) }
}

/// The id of a keychain item of the wallet.
enum KeychainItemKind: RandomlyChosen {
    static let byteCount = 16
}

extension StoredID<KeychainItemKind> {
    private static var prefix: String { "wallet-unlock." }

    /// The name of the item in the keychain.
    var name: String { Self.prefix + self.value.description }

    /// True if the wallet created an item of this name; a host application may keep other items.
    static func belongsToWallet(_ name: String) -> Bool { name.hasPrefix(self.prefix) }
}

/// The file format of an ``UnlockMethod``.
enum StoredMethod: String, Codable, Hashable, Sendable {
    case biometric
    case passcode
    case either

    init(_ method: UnlockMethod) {
        switch method {
        case .biometric: self = .biometric
        case .passcode: self = .passcode
        case .either: self = .either
        }
    }

    var method: UnlockMethod {
        switch self {
        case .biometric: .biometric
        case .passcode: .passcode
        case .either: .either
        }
    }
}
