internal import Crypto
internal import Secrets
internal import Synchronization
internal import Vault
internal import Vocabulary
internal import WalletStore

/// The facts of a wallet's identity that are fixed at its registration: its hardware key and its app.
///
/// They are sealed together with the PIN key (``LayeredIdentity``). An attacker who can write to the database can
/// therefore put back an earlier identity of the same wallet, but cannot combine one wallet's hardware with another's
/// PIN. The form of proofs, the app and the environment are among the facts, so no later message can choose them.
struct IdentityRecord: Hashable {
    let platform: Platform
    let hardwareKey: P256PublicKey
    /// The package name, or the team id and bundle id, 1 to 223 bytes long.
    let appID: String
    /// The App Attest environment, at most 31 bytes long.
    ///
    /// Empty on Android.
    let environment: String

    /// Creates a record; returns nil if a text is too long or the app id is empty.
    init?(platform: Platform, hardwareKey: P256PublicKey, appID: String, environment: String) {
        guard (1..<Self.appIDByteCount).contains(appID.utf8.count), environment.utf8.count < Self.environmentByteCount
        else { return nil }
        self.platform = platform
        self.hardwareKey = hardwareKey
        self.appID = appID
        self.environment = environment
    }
}

/// A wallet's identity, along with the sealed value that it was opened from.
///
/// The store compares the sealed value, because the record may only be used for judging while the store still contains
/// that value.
///
/// This is an immutable class, so that a call carries one reference instead of one per part.
final class OpenedIdentity: Sendable {
    let record: IdentityRecord
    /// The PIN key, or nil if only the outer layer is open, as in a session without the wallet's keys.
    let pinKey: P256PublicKey?
    let sealedPINKey: Sealed
    let sealed: Sealed

    init(record: IdentityRecord, pinKey: P256PublicKey?, sealedPINKey: Sealed, sealed: Sealed) {
        self.record = record
        self.pinKey = pinKey
        self.sealedPINKey = sealedPINKey
        self.sealed = sealed
    }
}

// The format of the facts: version 1 ‖ platform ‖ hardware key ‖ app id ‖ environment. Both texts are preceded by their
// length and padded with zeros. All identities have the same length, so a sealed value reveals nothing.
extension IdentityRecord {
    /// The length of every record.
    static let byteCount = 2 + 65 + Self.appIDByteCount + Self.environmentByteCount
    private static let appIDByteCount = 224
    private static let environmentByteCount = 32
    private static let version: UInt8 = 1

    var bytes: [UInt8] {
        var bytes = [Self.version, self.platform == .android ? 1 : 2]
        bytes.reserveCapacity(Self.byteCount)
        bytes += self.hardwareKey.bytes
        bytes += Self.field(self.appID, byteCount: Self.appIDByteCount)
        bytes += Self.field(self.environment, byteCount: Self.environmentByteCount)
        return bytes
    }

    /// Decodes ``bytes``; returns nil for any other input.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount, bytes[0] == Self.version, bytes[1] == 1 || bytes[1] == 2,
            let hardwareKey = P256PublicKey(bytes[2..<67]),
            let appID = Self.text(bytes[67...].prefix(Self.appIDByteCount)),
            let environment = Self.text(bytes.suffix(Self.environmentByteCount))
        else { return nil }
        self.init(
            platform: bytes[1] == 1 ? .android : .iOS,
            hardwareKey: hardwareKey,
            appID: appID,
            environment: environment
        )
    }

    private static func field(_ text: String, byteCount: Int) -> [UInt8] {
        let utf8 = Array(text.utf8)
        return [UInt8(utf8.count)] + utf8 + Array(repeating: 0, count: byteCount - 1 - utf8.count)
    }

    private static func text(_ field: ArraySlice<UInt8>) -> String? {
        guard let length = field.first, Int(length) < field.count else { return nil }
        let text = field.dropFirst().prefix(Int(length))
        guard !text.contains(0), field.dropFirst(1 + text.count).allSatisfy({ $0 == 0 }) else { return nil }
        return String(decoding: text, as: UTF8.self)
    }
}

/// A stand-in for wallets that do not exist.
///
/// Proofs of unknown wallets are checked against it. Its sealed identity looks like any other. This is a class because
/// the sealed identity must be replaced when the key version it was sealed with is removed from the vault.
final class Decoy: Sendable {
    let record: IdentityRecord
    private let sealed: Mutex<[UInt8]>
    /// The keys of no wallet, which no vault derived, and a share sealed with them.
    private let keys = WalletKeys.decoy()
    private let sealedShare: [UInt8]
    private let walletID = WalletID.random()
    private let vault: CountedVault

    /// Creates a key, discards the private part, and seals the identity.
    ///
    /// `appID` must be used by real wallets, so that an assertion is checked as far as it would be for them.
    init(appID: String, vault: CountedVault) {
        let key = P256.Signing.PrivateKey().publicKey.x963Representation
        guard let publicKey = P256PublicKey(key),
            let record = IdentityRecord(platform: .android, hardwareKey: publicKey, appID: appID, environment: ""),
            let share = try? self.keys.seal(Share.random().copy(), as: .unlockShare)
        else { preconditionFailure("a new key and a configured app id make an identity") }
        self.record = record
        self.vault = vault
        self.sealed = Mutex([])
        self.sealedShare = share
        self.seal()
    }

    private func seal() {
        let identity = LayeredIdentity(decoy: self.record.bytes, version: self.vault.activeVersion)
        guard let sealed = try? self.vault.sealIdentity(identity, of: self.walletID) else { return }
        self.sealed.withLock { $0 = sealed }
    }

    /// Opens a share, which takes the same steps as opening the share of a wallet.
    func openShare() {
        _ = try? self.vault.open(self.sealedShare, as: .unlockShare, with: self.keys)
    }

    /// Opens the record, as for a real wallet.
    func open() -> IdentityRecord {
        let sealed = self.sealed.withLock { $0 }
        guard let identity = try? self.vault.openIdentity(sealed, of: self.walletID) else {
            self.seal()
            return self.record
        }
        return IdentityRecord(identity.facts) ?? self.record
    }
}
