internal import DeviceInterface
internal import Secrets
internal import Statements
internal import Vocabulary
internal import WalletFlows

/// What a wallet remembers without a key: one file, replaced as a whole.
///
/// Nothing in it is a verifier of the PIN: no PIN key, public or private, and no signature. The slots open only with
/// a share that the server holds (docs/protocol.md, G2).
struct LocalState: Codable, Hashable, Sendable {
    /// The form of the file; a newer one is refused and left as it is.
    var version = 1
    /// The newest form that is understood.
    static let currentVersion = 2

    /// A token and the key that was attested for it, until the first session.
    var enrollment: PendingEnrollment?
    var registration: LocalRegistration?
    /// A wallet that was wiped here while the server could not be told.
    var unreportedWipe: StoredID<WalletIDKind>?

    /// Whether there is anything to keep.
    var isEmpty: Bool { self.enrollment == nil && self.registration == nil && self.unreportedWipe == nil }

    /// The oldest form that says all of it.
    ///
    /// A version of the app that knows only form 1 would lose what it does not know at its next write: the name of the
    /// item under which the PIN slot is sealed, and with it the wallet. It has to refuse such a file.
    var neededVersion: Int {
        guard let registration = self.registration else { return 1 }
        return registration.biometrics == nil && registration.hasPID != true ? 1 : 2
    }
}

/// An enrollment that may be repeated: the same token, the same hardware key, the same evidence.
struct PendingEnrollment: Codable, Hashable, Sendable {
    var token: StoredBytes
    var walletID: StoredID<WalletIDKind>
    /// On the server's clock, milliseconds since 1970.
    var expiresAtMs: Int64
    var evidence: StoredEvidence
}

/// A device's evidence, kept because a platform may give it only once for a key.
enum StoredEvidence: Codable, Hashable, Sendable {
    case android(certificates: [StoredBytes])
    case apple(object: StoredBytes, keyID: StoredID<SHA256DigestKind>)
}

/// A registration that the server answered.
struct LocalRegistration: Codable, Hashable, Sendable {
    var walletID: StoredID<WalletIDKind>
    /// The pair that was current last, then every pair that was ever sent to replace it.
    ///
    /// A message that was taken for lost may still arrive as long as the first is current, so none is removed before a
    /// valid PIN has opened a successor's slot.
    var pairs: [PINPair]
    var progress: StoredProgress
    /// False until the first session: until then the token may be registered again.
    var hadSession: Bool
    /// Nil while biometrics are off.
    var biometrics: BiometricSlot?
    /// Whether an issuer has given this wallet an identity; absent until then.
    var hasPID: Bool?

    /// How the wallet uses biometrics at present.
    var biometricMode: BiometricMode {
        switch self.biometrics?.guardsPINSlots {
        case .none: .off
        case .some(false): .fallback
        case .some(true): .safe
        }
    }

    func pair(_ id: PINKeyID) -> PINPair? { self.pairs.first { $0.id.value == id } }
}

/// How far the setup came, as it stands in the file.
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

/// One PIN's side of the device: the id that the server knows its key by, its salt, and the data key in its slot.
struct PINPair: Codable, Hashable, Sendable {
    var id: StoredID<PINKeyIDKind>
    var salt: StoredBytes
    var slot: StoredBytes

    /// A new pair for a new PIN, under a new id and a new salt.
    static func make(
        for entry: PINEntry,
        dataKey: borrowing SecretBytes,
        share: Share,
        walletID: WalletID
    ) -> PINPair {
        let salt = SecretBytes.random(count: PINKey.saltByteCount)
        return self.make(for: entry, id: .random(), salt: salt, dataKey: dataKey, share: share, walletID: walletID)
    }

    static func make(
        for entry: PINEntry,
        id: PINKeyID,
        salt: borrowing SecretBytes,
        dataKey: borrowing SecretBytes,
        share: Share,
        walletID: WalletID
    ) -> PINPair {
        let part = entry.withPIN { SlotKeys.part(pin: $0, salt: salt) }
        let slotKey = SlotKeys.pinSlot(part: part, share: share, walletID: walletID)
        return PINPair(
            id: StoredID(id),
            salt: StoredBytes(salt.exposedBytes()),
            slot: StoredBytes(slotKey.seal(dataKey, associatedData: Self.label(id: id, walletID: walletID)))
        )
    }

    /// The data key, where PIN and share are the right ones: the only proof of `valid` that a wallet believes.
    func open(with entry: PINEntry, share: Share, walletID: WalletID) throws(SealBroken) -> SecretBytes {
        let salt = SecretBytes(copying: self.salt.bytes)
        let part = entry.withPIN { SlotKeys.part(pin: $0, salt: salt) }
        let slotKey = SlotKeys.pinSlot(part: part, share: share, walletID: walletID)
        return try slotKey.open(
            self.slot.bytes,
            associatedData: Self.label(id: self.id.value, walletID: walletID)
        )
    }

    /// The key that the entered PIN gives under this pair's salt; for as long as a signature takes.
    func key(for entry: PINEntry) -> PINKey {
        let salt = SecretBytes(copying: self.salt.bytes)
        return entry.withPIN { PINKey(pin: $0, salt: salt) }
    }

    private static func label(id: PINKeyID, walletID: WalletID) -> [UInt8] {
        Array("pin slot".utf8) + [0] + walletID.bytes + id.bytes
    }
}
