internal import EmbeddedServer
internal import Evidence
@testable import RemotePINServer
internal import Secrets
internal import Statements
internal import TestSupport
internal import Vault
internal import Vocabulary
internal import WalletStore

/// A wallet with the keys of its phone, in the store of a running server.
final class FuzzedWallet {
    /// The keys with which instructions are signed.
    enum PINName: String, CaseIterable { case right, wrong, second }

    let id = WalletID.random()
    let deletionCode = DeletionCode.random()
    let firstID = PINKeyID.random()
    let secondID = PINKeyID.random()
    let hardware = SigningKey()
    private let unlockShare = SecretBytes.random(count: 32).exposedBytes()

    // Derived once, because a derivation takes longer than an input.
    private static let right = FuzzedWallet.key("111111")
    private static let wrong = FuzzedWallet.key("222222")
    private static let second = FuzzedWallet.key("333333")

    private static func key(_ digits: String) -> PINKey {
        guard let pin = PIN(copying: Array(digits.utf8)) else { fatalError("six digits are a PIN") }
        return PINKey(pin: pin, salt: SecretBytes(copying: [UInt8](repeating: 1, count: PINKey.saltByteCount)))
    }

    static func publicKey(_ name: PINName) -> P256PublicKey {
        switch name {
        case .right: Self.right.publicKey
        case .wrong: Self.wrong.publicKey
        case .second: Self.second.publicKey
        }
    }

    static func sign(_ statement: Statement, by name: PINName) -> P256Signature {
        switch name {
        case .right: Self.right.sign(statement)
        case .wrong: Self.wrong.sign(statement)
        case .second: Self.second.sign(statement)
        }
    }

    /// The name of a public key, or nil if it is not a test key.
    static func name(of key: [UInt8]) -> PINName? { PINName.allCases.first { self.publicKey($0).bytes == key } }

    /// Registers the wallet in the server's store, as if its evidence had been verified.
    func register(at server: LiveServer) {
        let record = IdentityRecord(
            platform: .android,
            hardwareKey: self.hardware.publicKey,
            appID: "fuzz",
            environment: ""
        )
        guard let record else { fatalError("the id of the app is short") }
        let (vault, id, code, share) = (server.vault, self.id, self.deletionCode, self.unlockShare)
        let (facts, keyID, now) = (record.bytes, self.firstID, server.clock.now())
        let hardware = sha256(self.hardware.publicKey.bytes)
        let store = server.store
        let isRegistered: Bool = server.queue.value {
            do {
                let keys = try await vault.keys(of: id, opening: [])
                func sealed(_ bytes: [UInt8], _ field: VaultField) throws -> Sealed {
                    try keys.seal(SecretBytes(copying: bytes), as: field)
                }
                let pinKey = try sealed(Self.right.publicKey.bytes, .pin)
                let registration = NewRegistration(
                    walletID: id,
                    hardwareKeyDigest: hardware,
                    identity: try vault.sealIdentity(LayeredIdentity(pinKey: pinKey, facts: facts), of: id),
                    pinKeyID: keyID,
                    unlockShare: try sealed(share, .unlockShare),
                    presenceShare: try sealed([UInt8](repeating: 2, count: 32), .presenceShare),
                    deletionCode: (try sealed(Array(code.characters.utf8), .deletionCode), code.lookupDigest),
                    assertionCounter: nil,
                    attested: "{}",
                    now: now
                )
                return try await store.register(registration) == .registered(receiptVersion: nil)
            } catch {
                return false
            }
        }
        require(isRegistered, "the store takes no wallet")
    }
}
