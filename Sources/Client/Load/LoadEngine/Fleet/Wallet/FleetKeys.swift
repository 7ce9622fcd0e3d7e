internal import Evidence
internal import Secrets
package import Statements
internal import Synchronization
package import Vocabulary

/// Derives all secrets of a wallet from the fleet's seed, so that they need not be stored in the file.
///
///     HKDF-SHA256(IKM = seed, no salt, info = "pin-load/1 " ‖ purpose ‖ 0x00 ‖ wallet id ‖ generation (4, big-endian))
///
/// The server chooses wallet ids and never repeats one, so each enrollment has its own hardware key, as on a phone.
/// Each PIN of a wallet has its own generation, and therefore its own id, salt and digits.
///
/// PIN keys are cached, because a derivation takes as long as several signatures, and runs return to the same wallets.
final class FleetKeys: Sendable {
    private let seed: HMACKey
    private let pinKeys = BoundedCache<PINKeyInputs, FleetPINKey>(limit: FleetKeys.maxCached)
    /// The shares that were verified to be the wallets'.
    let provenShares = BoundedCache<WalletID, Share>(limit: FleetKeys.maxCached)

    /// The maximum number of cached keys, which take about 0.5 KiB each.
    private static let maxCached = 1 << 14

    init(seed: [UInt8]) { self.seed = HMACKey(extractedFrom: SecretBytes(copying: seed)) }

    private struct PINKeyInputs: Hashable {
        let wallet: WalletID
        let generation: UInt32
        let entry: PINChoice
    }

    private enum Purpose: String {
        case hardwareKey = "hardware key"
        case salt, digits
        case pinKeyID = "pin key id"
    }

    /// Returns the key that stands for the phone's secure hardware.
    func hardwareKey(of wallet: WalletID) -> SigningKey {
        SigningKey(self.derive(.hardwareKey, wallet, count: 48).p256SigningKey())
    }

    func pinKeyID(of wallet: WalletID, generation: UInt32) -> PINKeyID {
        guard let id = PINKeyID(self.derive(.pinKeyID, wallet, generation, count: 16).exposedBytes()) else {
            preconditionFailure("every sixteen bytes are an id")
        }
        return id
    }

    /// Returns the key derived from an entered PIN and the salt of a generation.
    func pinKey(of wallet: WalletID, generation: UInt32, entry: PINChoice) -> FleetPINKey {
        let inputs = PINKeyInputs(wallet: wallet, generation: generation, entry: entry)
        if let key = self.pinKeys[inputs] { return key }
        let right = self.derive(.digits, wallet, generation, count: 8).exposedBytes()
        let number = right.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % Self.pins
        guard let pin = PIN(copying: Self.digits(of: entry.number(right: number))) else {
            preconditionFailure("six digits are a PIN")
        }
        let salt = self.derive(.salt, wallet, generation, count: PINKey.saltByteCount)
        let key = FleetPINKey(PINKey(pin: pin, salt: salt))
        self.pinKeys[inputs] = key
        return key
    }

    static let pins: UInt64 = 1_000_000

    private static func digits(of number: UInt64) -> [UInt8] {
        let text = Array(String(number).utf8)
        return Array(repeating: UInt8(ascii: "0"), count: PIN.length - text.count) + text
    }

    private func derive(_ purpose: Purpose, _ wallet: WalletID, _ generation: UInt32 = 0, count: Int) -> SecretBytes {
        var info = Array("pin-load/1 \(purpose.rawValue)".utf8)
        info.append(0)
        info += wallet.bytes
        info += generation.littleEndianBytes.reversed()
        return self.seed.derive(info: info, count: count)
    }
}

/// The key of an entered PIN, kept for further signatures.
package final class FleetPINKey: Sendable {
    private let key: PINKey

    init(_ key: consuming PINKey) { self.key = key }

    package var publicKey: P256PublicKey { self.key.publicKey }

    package func sign(_ statement: Statement) -> P256Signature { self.key.sign(statement) }
}

/// The PIN that a simulated user enters.
package enum PINChoice: Hashable, Sendable {
    /// The current PIN.
    case right
    /// A wrong PIN.
    ///
    /// Each variant below 999,999 is a different PIN.
    case wrong(UInt32)

    /// Returns the digits as a number.
    func number(right: UInt64) -> UInt64 {
        switch self {
        case .right: right
        case .wrong(let variant): (right + 1 + UInt64(variant) % (FleetKeys.pins - 1)) % FleetKeys.pins
        }
    }
}

/// A cache of values that can be computed again.
final class BoundedCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let values = Mutex<[Key: Value]>([:])
    private let limit: Int

    /// - Parameter limit: The maximum number of values.
    init(limit: Int) { self.limit = limit }

    /// A value, or nil if it is not cached.
    ///
    /// A new value for a full cache replaces all others. Replacing the oldest one would require the order of use, and
    /// would not help a run that visits more wallets in turn than the cache can hold.
    subscript(key: Key) -> Value? {
        get { self.values.withLock { $0[key] } }
        set {
            self.values.withLock { values in
                if values.count >= self.limit, values[key] == nil { values.removeAll(keepingCapacity: true) }
                values[key] = newValue
            }
        }
    }
}
