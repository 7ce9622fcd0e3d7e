package import Secrets
package import Vocabulary

/// The keys of the device's slots, each made of a part that the device has and a share that the server gives.
///
/// Either half alone says nothing about the key: the storage does not open without the server, the server's data does
/// not open anything without the device.
package enum SlotKeys {
    private static let partInfo = Array("remote-pin/1 slot part".utf8)
    private static let pinSlotInfo = Array("remote-pin/1 pin slot".utf8)
    private static let biometricSlotInfo = Array("remote-pin/1 biometric slot".utf8)
    private static let checkInfo = Array("remote-pin/1 check".utf8)

    /// The PIN's part of the PIN slot's key, 32 bytes.
    ///
    /// It is derived apart from the PIN key, so that it can be made before the server answers and the PIN dropped.
    package static func part(pin: borrowing PIN, salt: borrowing SecretBytes) -> SecretBytes {
        pin.keyMaterial(salt: salt).hkdfSHA256(info: self.partInfo, count: 32)
    }

    /// The key of the PIN slot, 32 bytes.
    package static func pinSlot(part: borrowing SecretBytes, share: Share, walletID: WalletID) -> SecretBytes {
        self.key(of: self.pinSlotInfo, deviceHalf: part, share: share, walletID: walletID)
    }

    /// The key of the biometric slot, 32 bytes; `item` is what the keychain releases to its owner, 32 bytes.
    package static func biometricSlot(item: borrowing SecretBytes, share: Share, walletID: WalletID) -> SecretBytes {
        self.key(of: self.biometricSlotInfo, deviceHalf: item, share: share, walletID: walletID)
    }

    /// 32 bytes that prove a share to be the right one where no slot is there to open (safe mode).
    ///
    /// Kept with the access data. A share has 256 random bits, so its check value gives nothing of it away.
    package static func checkValue(share: Share) -> [UInt8] {
        share.withSecret { $0.hkdfSHA256(info: self.checkInfo, count: 32).exposedBytes() }
    }

    /// Both halves have 32 bytes, so that one cannot grow at the other's cost.
    private static func key(
        of slot: [UInt8],
        deviceHalf: borrowing SecretBytes,
        share: Share,
        walletID: WalletID
    ) -> SecretBytes {
        precondition(deviceHalf.count == 32, "the device's half of a slot key has 32 bytes")
        let material = share.withSecret { deviceHalf.concatenated(with: $0) }
        return material.hkdfSHA256(info: slot + walletID.bytes, count: 32)
    }
}
