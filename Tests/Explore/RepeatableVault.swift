internal import Secrets
internal import Synchronization
internal import Vault
internal import Vocabulary

/// A vault whose sealed identities depend on the connection and the order of its calls only, so that a repeated run of
/// a connection gives the same values.
///
/// Two identities sealed by different connections differ, as those of a real vault do. In the store, the PIN key in an
/// identity is not sealed. The wallet's shares were sealed at its registration.
final class RepeatableVault: Vault {
    let file: KeyFileVault
    private let place = Mutex<(run: UInt8, count: UInt8)>((run: 0, count: 0))
    /// The keys of the only wallet, which no connection wipes.
    private let own = Mutex<WalletKeys?>(nil)

    init(_ file: KeyFileVault) {
        self.file = file
    }

    /// Begins the run of a connection.
    func begin(_ run: UInt8) { self.place.withLock { $0 = (run, 0) } }

    func keys(of wallet: WalletID, opening sealed: [[UInt8]]) async throws(VaultError) -> WalletKeys {
        let own = try await self.file.keys(of: wallet, opening: sealed)
        self.own.withLock { $0 = own }
        return try await self.file.keys(of: wallet, opening: sealed)
    }

    var activeVersion: UInt32 { self.file.activeVersion }

    func sealIdentity(_ identity: LayeredIdentity, of wallet: WalletID) throws(VaultError) -> [UInt8] {
        let pinKey = try self.keys(of: wallet).open(identity.pinKey, as: .pin).exposedBytes()
        let place = self.place.withLock { place in
            place.count += 1
            return place
        }
        return [place.run, place.count] + pinKey + identity.facts
    }

    func openIdentity(_ sealed: [UInt8], of wallet: WalletID) throws(VaultError) -> LayeredIdentity {
        let (pinKey, facts) = (sealed.dropFirst(2).prefix(65), sealed.dropFirst(67))
        let sealedPINKey = try self.keys(of: wallet).seal(SecretBytes(copying: pinKey), as: .pin)
        return LayeredIdentity(pinKey: sealedPINKey, facts: Array(facts))
    }

    private func keys(of wallet: WalletID) throws(VaultError) -> WalletKeys {
        // The decoy of a server has no keys.
        guard let keys = self.own.withLock({ $0 }), keys.wallet == wallet else { throw .notOurs }
        return keys
    }

    func mac(_ message: [UInt8], for use: MACUse) -> [UInt8] { self.file.mac(message, for: use) }

    func isMAC(_ mac: [UInt8], of message: [UInt8], for use: MACUse) -> Bool {
        self.file.isMAC(mac, of: message, for: use)
    }
}
