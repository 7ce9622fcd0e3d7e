internal import Secrets
internal import Synchronization
internal import Vault
internal import Vocabulary

/// A vault whose sealed values depend on the connection and the order of its calls only, so that a repeated run of a
/// connection gives the same values.
///
/// Two values sealed by different connections differ, as those of a real vault do.
final class RepeatableVault: Vault {
    let macs: KeyFileVault
    private let place = Mutex<(run: UInt8, count: UInt8)>((run: 0, count: 0))

    init(macs: KeyFileVault) {
        self.macs = macs
    }

    /// Begins the run of a connection.
    func begin(_ run: UInt8) { self.place.withLock { $0 = (run, 0) } }

    func seal(_ secret: borrowing SecretBytes, as field: VaultField, of wallet: WalletID) async throws(VaultError)
        -> [UInt8]
    {
        let place = self.place.withLock { place in
            place.count += 1
            return place
        }
        return [place.run, place.count, Self.tag(field)] + secret.exposedBytes()
    }

    func unseal(_ sealed: [UInt8], as field: VaultField, of wallet: WalletID) async throws(VaultError) -> SecretBytes {
        guard sealed.count > 3, sealed[2] == Self.tag(field) else { throw .notOurs }
        return SecretBytes(copying: sealed.dropFirst(3))
    }

    func mac(_ message: [UInt8], for use: MACUse) -> [UInt8] { self.macs.mac(message, for: use) }

    func isMAC(_ mac: [UInt8], of message: [UInt8], for use: MACUse) -> Bool {
        self.macs.isMAC(mac, of: message, for: use)
    }

    private static func tag(_ field: VaultField) -> UInt8 {
        switch field {
        case .identity: 1
        case .unlockShare: 2
        case .presenceShare: 3
        case .deletionCode: 4
        }
    }
}
