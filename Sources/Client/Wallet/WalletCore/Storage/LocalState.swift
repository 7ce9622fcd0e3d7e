internal import DeviceInterface
internal import Secrets
internal import Statements
internal import Vocabulary
internal import WalletFlows

/// The unencrypted state of a wallet: one file, replaced as a whole.
///
/// It contains no verifier of the PIN: no PIN key, public or private, and no signature. The slots
/// open only with a share that the server holds (docs/protocol.md, G2).
struct LocalState: Codable, Hashable, Sendable {
    /// The format version of the file; files with a newer version are rejected and left unchanged.
    ///
    /// Version 2 added biometrics and the identity, version 3 the checksum of ``StateFile`` and slots under next
    /// shares.
    var version = LocalState.currentVersion
    /// The format version we write, and the newest one we can read.
    static let currentVersion = 3

    /// The token and the key that was attested for it, until the first session.
    var enrollment: PendingEnrollment?
    var registration: LocalRegistration?
    /// The id of a wallet that was wiped on this device but not yet reported to the server.
    var unreportedWipe: StoredID<WalletIDKind>?

    /// True if the file can be removed.
    var isEmpty: Bool { self.enrollment == nil && self.registration == nil && self.unreportedWipe == nil }
}

/// An enrollment that can be repeated with the same token, hardware key and evidence.
struct PendingEnrollment: Codable, Hashable, Sendable {
    var token: StoredBytes
    var walletID: StoredID<WalletIDKind>
    /// Milliseconds since 1970 on the server's clock.
    var expiresAtMs: Int64
    var evidence: StoredEvidence
}

/// The file format of a device's evidence, which a platform may issue only once for a key.
enum StoredEvidence: Codable, Hashable, Sendable {
    case android(certificates: [StoredBytes])
    case apple(object: StoredBytes, keyID: StoredID<SHA256DigestKind>)
}

/// A registration that the server has confirmed.
struct LocalRegistration: Codable, Hashable, Sendable {
    var walletID: StoredID<WalletIDKind>
    /// The last known current pair, then every pair that was sent to replace it.
    ///
    /// A message we believe to be lost may still arrive while the first pair is current. We do not remove a pair until
    /// a valid PIN has opened the slot of a successor.
    var pairs: [PINPair]
    var progress: StoredProgress
    /// False until the first session; until then the token can be registered again.
    var hadSession: Bool
    /// Nil while biometrics are off.
    var biometrics: BiometricSlot?
    /// True once an issuer has identified the user, and nil before that.
    var hasPID: Bool?

    /// The current use of biometrics.
    var biometricMode: BiometricMode {
        switch self.biometrics?.guardsPINSlots {
        case .none: .off
        case .some(false): .fallback
        case .some(true): .safe
        }
    }

    /// Whether a slot is also sealed under a next share.
    var hasNextSlot: Bool { self.biometrics?.next != nil || self.pairs.contains { $0.nextSlot != nil } }

    func pair(_ id: PINKeyID) -> PINPair? { self.pairs.first { $0.id.value == id } }
}

/// The file format of ``SetupProgress``.
enum StoredProgress: String, Codable, Hashable, Sendable {
    case registered
    case secured
    case done

    init?(_ progress: SetupProgress) {
        switch progress {
        case .notStarted: return nil
        case .registered: self = .registered
        case .secured: self = .secured
        case .done: self = .done
        }
    }

    var progress: SetupProgress {
        switch self {
        case .registered: .registered
        case .secured: .secured
        case .done: .done
        }
    }
}

/// The device's data for one PIN: the id of the PIN key at the server, the salt, and the data key
/// sealed in a slot.
struct PINPair: Codable, Hashable, Sendable {
    var id: StoredID<PINKeyIDKind>
    var salt: StoredBytes
    var slot: StoredBytes
    /// The slot under the next unlock share, from when the wallet creates it until it knows that the server has
    /// replaced the share; nil otherwise.
    var nextSlot: StoredBytes?

    /// Creates a pair for a new PIN with a random id and salt; with a slot for `next`, too, if the
    /// unlock share is being replaced.
    static func make(
        for entry: PINEntry,
        dataKey: borrowing SecretBytes,
        share: Share,
        next: Share?,
        walletID: WalletID
    ) -> PINPair {
        let salt = SecretBytes.random(count: PINKey.saltByteCount)
        var pair = self.make(
            for: entry,
            id: .random(),
            salt: salt,
            dataKey: dataKey,
            share: share,
            walletID: walletID
        )
        if let next { pair.nextSlot = pair.slot(for: entry, dataKey: dataKey, share: next, walletID: walletID) }
        return pair
    }

    static func make(
        for entry: PINEntry,
        id: PINKeyID,
        salt: borrowing SecretBytes,
        dataKey: borrowing SecretBytes,
        share: Share,
        walletID: WalletID
    ) -> PINPair {
        var pair = PINPair(id: StoredID(id), salt: StoredBytes(salt.exposedBytes()), slot: StoredBytes([]))
        pair.slot = pair.slot(for: entry, dataKey: dataKey, share: share, walletID: walletID)
        return pair
    }

    /// Seals the data key for this pair's PIN and a share.
    func slot(
        for entry: PINEntry,
        dataKey: borrowing SecretBytes,
        share: Share,
        walletID: WalletID
    ) -> StoredBytes {
        let slotKey = self.slotKey(for: entry, share: share, walletID: walletID)
        return StoredBytes(
            slotKey.seal(dataKey, associatedData: Self.label(id: self.id.value, walletID: walletID))
        )
    }

    private func slotKey(for entry: PINEntry, share: Share, walletID: WalletID) -> SecretBytes {
        let salt = SecretBytes(copying: self.salt.bytes)
        let part = entry.withPIN { SlotKeys.part(pin: $0, salt: salt) }
        return SlotKeys.pinSlot(part: part, share: share, walletID: walletID)
    }

    /// Returns the data key if the PIN and the share are right.
    ///
    /// This is the only proof of `valid` that a wallet accepts.
    func open(with entry: PINEntry, share: Share, walletID: WalletID) throws(SealBroken) -> SecretBytes {
        let slotKey = self.slotKey(for: entry, share: share, walletID: walletID)
        return try slotKey.open(
            self.slot.bytes,
            associatedData: Self.label(id: self.id.value, walletID: walletID)
        )
    }

    /// Returns the pair with the slot under the next share as its only slot.
    func promoted() -> PINPair {
        guard let nextSlot = self.nextSlot else { return self }
        var pair = self
        (pair.slot, pair.nextSlot) = (nextSlot, nil)
        return pair
    }

    /// Derives the PIN key from the entered PIN and the salt of this pair; only keep it while signing.
    func key(for entry: PINEntry) -> PINKey {
        let salt = SecretBytes(copying: self.salt.bytes)
        return entry.withPIN { PINKey(pin: $0, salt: salt) }
    }

    private static func label(id: PINKeyID, walletID: WalletID) -> [UInt8] {
        Array("pin slot".utf8) + [0] + walletID.bytes + id.bytes
    }
}
