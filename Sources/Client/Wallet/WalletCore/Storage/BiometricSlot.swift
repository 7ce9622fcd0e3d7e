internal import WalletFlows
internal import Secrets
internal import Statements
internal import Vocabulary

/// The data key, sealed under both a keychain item, which is released by a prompt, and the presence share, which the
/// server gives to an active wallet.
struct BiometricSlot: Codable, Hashable, Sendable {
    /// The id of the keychain item.
    ///
    /// Each item has a random id, so that a new item never replaces an old one, and items left by a crash can be told
    /// apart from the current one.
    var item: KeychainItemID
    /// The item's unlock method.
    var method: UnlockMethod
    var slot: StoredBytes
    /// The slot under the next presence share, or nil if the shares are not being replaced.
    var next: NextSlot?
    /// Whether the safe mode is on, in which the slots of all PIN pairs are also sealed under the item.
    ///
    /// A single flag for all pairs is written together with them, so that a crash cannot leave only some of them
    /// sealed.
    var guardsPINSlots: Bool

    /// A slot under the next presence share, with the share's check value.
    struct NextSlot: Codable, Hashable, Sendable {
        var slot: StoredBytes
        var shareCheck: StoredBytes
    }

    /// Seals the data key.
    ///
    /// Returns nil if the result cannot be opened again, because we must not rely on such a slot.
    static func make(
        item: OpenedItem,
        method: UnlockMethod,
        dataKey: borrowing SecretBytes,
        share: Share,
        walletID: WalletID
    ) -> BiometricSlot? {
        let made = BiometricSlot(
            item: item.id,
            method: method,
            slot: Self.slot(of: dataKey, with: item, share: share, walletID: walletID),
            guardsPINSlots: false
        )
        guard let opened = try? made.open(with: item, share: share, walletID: walletID), opened.isEqual(to: dataKey)
        else { return nil }
        return made
    }

    /// Seals the data key twice: under the presence share and under the one that will replace it.
    mutating func seal(
        _ dataKey: borrowing SecretBytes,
        with item: OpenedItem,
        share: Share,
        next: Share,
        walletID: WalletID
    ) {
        self.slot = Self.slot(of: dataKey, with: item, share: share, walletID: walletID)
        self.next = NextSlot(
            slot: Self.slot(of: dataKey, with: item, share: next, walletID: walletID),
            shareCheck: StoredBytes(SlotKeys.checkValue(share: next))
        )
    }

    private static func slot(
        of dataKey: borrowing SecretBytes,
        with item: OpenedItem,
        share: Share,
        walletID: WalletID
    ) -> StoredBytes {
        let key = SlotKeys.biometricSlot(item: item.secret, share: share, walletID: walletID)
        return StoredBytes(key.seal(dataKey, associatedData: Self.label(item.id, walletID)))
    }

    /// Returns whether the data key is sealed under this next presence share.
    func isPrepared(for share: Share) -> Bool {
        self.next.map { constantTimeEqual($0.shareCheck.bytes, SlotKeys.checkValue(share: share)) } ?? false
    }

    /// Returns the slot with only its form under the next share.
    func promoted() -> BiometricSlot {
        guard let next = self.next else { return self }
        var slot = self
        (slot.slot, slot.next) = (next.slot, nil)
        return slot
    }

    /// Returns the data key; throws if the item or the presence share is wrong.
    func open(with item: OpenedItem, share: Share, walletID: WalletID) throws(SealBroken) -> SecretBytes {
        let key = SlotKeys.biometricSlot(item: item.secret, share: share, walletID: walletID)
        return try key.open(self.slot.bytes, associatedData: Self.label(self.item, walletID))
    }

    private static func label(_ item: KeychainItemID, _ walletID: WalletID) -> [UInt8] {
        Array("biometric slot".utf8) + [0] + walletID.bytes + item.bytes
    }
}

extension PINPair {
    /// Returns the pair with its slot also sealed under the item, which makes the slot unusable without the prompt,
    /// even with the PIN.
    func sealed(under item: OpenedItem, walletID: WalletID) -> PINPair {
        var pair = self
        let key = item.secret.hkdfSHA256(info: Self.sealInfo + walletID.bytes, count: 32)
        func sealed(_ slot: StoredBytes) -> StoredBytes {
            StoredBytes(key.seal(SecretBytes(copying: slot.bytes), associatedData: self.id.bytes))
        }
        pair.slot = sealed(self.slot)
        pair.nextSlot = self.nextSlot.map(sealed)
        return pair
    }

    /// Reverses ``sealed(under:walletID:)``.
    func unsealed(with item: OpenedItem, walletID: WalletID) throws(SealBroken) -> PINPair {
        var pair = self
        let key = item.secret.hkdfSHA256(info: Self.sealInfo + walletID.bytes, count: 32)
        func opened(_ slot: StoredBytes) throws(SealBroken) -> StoredBytes {
            StoredBytes(try key.open(slot.bytes, associatedData: self.id.bytes).exposedBytes())
        }
        pair.slot = try opened(self.slot)
        if let nextSlot = self.nextSlot { pair.nextSlot = try opened(nextSlot) }
        return pair
    }

    private static var sealInfo: [UInt8] { Array("remote-pin/1 sealed pin slot".utf8) }
}

/// The secret in a keychain item that was released by a prompt.
///
/// It is only kept in memory and wiped when the last reference is released.
final class OpenedItem {
    let id: KeychainItemID
    let secret: SecretBytes

    /// The length of the secret.
    ///
    /// An item of a different length was not created by the wallet.
    static let byteCount = 32

    init?(_ id: KeychainItemID, _ secret: consuming SecretBytes) {
        guard secret.count == Self.byteCount else { return nil }
        self.id = id
        self.secret = secret
    }

    private init(new id: KeychainItemID) {
        self.id = id
        self.secret = .random(count: Self.byteCount)
    }

    static func random() -> OpenedItem { OpenedItem(new: .random()) }
}

/// The id of one of the wallet's keychain items.
typealias KeychainItemID = FixedBytes<KeychainItemKind>

enum KeychainItemKind: RandomlyChosen {
    static let byteCount = 16
}

extension FixedBytes<KeychainItemKind> {
    private static var prefix: String { "wallet-unlock." }

    /// The item's name in the keychain.
    var name: String { Self.prefix + self.description }

    /// Returns whether an item with this name was created by the wallet.
    ///
    /// The host application may have other items.
    static func belongsToWallet(_ name: String) -> Bool { name.hasPrefix(self.prefix) }
}
