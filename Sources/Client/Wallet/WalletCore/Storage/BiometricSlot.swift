internal import DeviceInterface
internal import Secrets
internal import Statements
internal import Vocabulary

/// The data key under what the keychain releases to the phone's owner and what the server gives an active wallet
/// (safe-biometric.md).
struct BiometricSlot: Codable, Hashable, Sendable {
    /// Names the keychain item; chosen anew for each item, so that a new one never takes the place of an old one and
    /// what a crash left behind can be told from what counts.
    var item: StoredID<KeychainItemKind>
    /// What opens the item.
    var method: StoredMethod
    var slot: StoredBytes
    /// The safe mode: the slot of every pair is sealed once more under the item.
    ///
    /// One statement for all of them, written together with them, so that no crash leaves some sealed and some not.
    var guardsPINSlots: Bool

    /// Seals the data key; nil where the result does not open again, which nothing may then depend on.
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

    /// The data key, where item and presence share are the right ones.
    func open(with item: OpenedItem, share: Share, walletID: WalletID) throws(SealBroken) -> SecretBytes {
        let key = SlotKeys.biometricSlot(item: item.secret, share: share, walletID: walletID)
        return try key.open(self.slot.bytes, associatedData: Self.label(self.item, walletID))
    }

    private static func label(_ item: StoredID<KeychainItemKind>, _ walletID: WalletID) -> [UInt8] {
        Array("biometric slot".utf8) + [0] + walletID.bytes + item.value.bytes
    }
}

extension PINPair {
    /// The pair with its slot sealed once more under the item: of no use without the prompt, PIN or not.
    func sealed(under item: OpenedItem, walletID: WalletID) -> PINPair {
        var pair = self
        let key = item.secret.hkdfSHA256(info: Self.sealInfo + walletID.bytes, count: 32)
        let slot = SecretBytes(copying: self.slot.bytes)
        pair.slot = StoredBytes(key.seal(slot, associatedData: self.id.value.bytes))
        return pair
    }

    /// What ``sealed(under:walletID:)`` was made of.
    func unsealed(with item: OpenedItem, walletID: WalletID) throws(SealBroken) -> PINPair {
        var pair = self
        let key = item.secret.hkdfSHA256(info: Self.sealInfo + walletID.bytes, count: 32)
        pair.slot = StoredBytes(try key.open(self.slot.bytes, associatedData: self.id.value.bytes).exposedBytes())
        return pair
    }

    private static var sealInfo: [UInt8] { Array("remote-pin/1 sealed pin slot".utf8) }
}

/// A keychain item that is open: its secret, in memory alone, wiped with the last reference.
final class OpenedItem {
    let id: StoredID<KeychainItemKind>
    let secret: SecretBytes

    /// What a biometric slot's key is made of has this many bytes; any other item is not ours.
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

    /// A new one, under a name that no item ever had.
    static func random() -> OpenedItem { OpenedItem(new: StoredID(.random())) }
}

/// Names one keychain item of the wallet.
enum KeychainItemKind: RandomlyChosen {
    static let byteCount = 16
}

extension StoredID<KeychainItemKind> {
    private static var prefix: String { "wallet-unlock." }

    /// The name in the keychain.
    var name: String { Self.prefix + self.value.description }

    /// Whether an item of this name is the wallet's; a host application may keep others beside it.
    static func isOurs(_ name: String) -> Bool { name.hasPrefix(self.prefix) }
}

/// What opens the keychain item, as it stands in the file.
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
