internal import Secrets
internal import Synchronization
internal import Vault
internal import Vocabulary

/// A vault whose sealed identities depend on the connection and the order of its calls only, so that a repeated run of
/// a connection gives the same values.
///
/// Two identities sealed by different connections differ, as those of a real vault do. Connections seal nothing else:
/// the wallet's shares were sealed at its registration.
final class RepeatableVault: Vault {
    let file: KeyFileVault
    private let place = Mutex<(run: UInt8, count: UInt8)>((run: 0, count: 0))

    init(_ file: KeyFileVault) {
        self.file = file
    }

    /// Begins the run of a connection.
    func begin(_ run: UInt8) { self.place.withLock { $0 = (run, 0) } }

    func keys(of wallet: WalletID, opening sealed: [[UInt8]]) async throws(VaultError) -> WalletKeys {
        try await self.file.keys(of: wallet, opening: sealed)
    }

    func sealIdentity(_ identity: borrowing SecretBytes, of wallet: WalletID) -> [UInt8] {
        let place = self.place.withLock { place in
            place.count += 1
            return place
        }
        return [place.run, place.count] + identity.exposedBytes()
    }

    func openIdentity(_ sealed: [UInt8], of wallet: WalletID) throws(VaultError) -> SecretBytes {
        guard sealed.count > 2 else { throw .notOurs }
        return SecretBytes(copying: sealed.dropFirst(2))
    }

    func mac(_ message: [UInt8], for use: MACUse) -> [UInt8] { self.file.mac(message, for: use) }

    func isMAC(_ mac: [UInt8], of message: [UInt8], for use: MACUse) -> Bool {
        self.file.isMAC(mac, of: message, for: use)
    }
}
