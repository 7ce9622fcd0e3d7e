package import Secrets
package import Vocabulary

/// Derives the keys of the device's slots, each from a part on the device and a share from the server.
///
/// Neither half reveals anything about the key. The storage cannot be opened without the server, and the server's data
/// does not open anything without the device.
package enum SlotKeys {
    private static let partInfo = Array("remote-pin/1 slot part".utf8)
    private static let pinSlotInfo = Array("remote-pin/1 pin slot".utf8)
    private static let biometricSlotInfo = Array("remote-pin/1 biometric slot".utf8)
    private static let checkInfo = Array("remote-pin/1 check".utf8)

    /// Returns the 32-byte part of the PIN slot's key that is derived from the PIN.
    ///
    /// The derivation is separate from that of the PIN key, so that the wallet can derive this part and then wipe the
    /// PIN before the server answers.
    package static func part(pin: borrowing PIN, salt: borrowing SecretBytes) -> SecretBytes {
        pin.keyMaterial(salt: salt).hkdfSHA256(info: self.partInfo, count: 32)
    }

    /// Returns the 32-byte key of the PIN slot.
    package static func pinSlot(part: borrowing SecretBytes, share: Share, walletID: WalletID) -> SecretBytes {
        self.key(of: self.pinSlotInfo, deviceHalf: part, share: share, walletID: walletID)
    }

    /// Returns the 32-byte key of the biometric slot.
    ///
    /// - Parameter item: The 32 bytes that the keychain releases to the wallet's owner.
    package static func biometricSlot(item: borrowing SecretBytes, share: Share, walletID: WalletID) -> SecretBytes {
        self.key(of: self.biometricSlotInfo, deviceHalf: item, share: share, walletID: walletID)
    }

    /// Returns the 32 bytes used to verify a share if there is no slot (safe mode).
    ///
    /// They are stored with the access data. A share has 256 random bits, so its check value does not reveal anything
    /// about it.
    package static func checkValue(share: Share) -> [UInt8] {
        share.withSecret { $0.hkdfSHA256(info: self.checkInfo, count: 32).exposedBytes() }
    }

    /// Returns the key of a slot.
    ///
    /// Both halves have 32 bytes, so the boundary between them is unambiguous.
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
