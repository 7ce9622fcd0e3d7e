internal import WalletFlows
internal import Secrets
internal import Statements
internal import Vocabulary

/// The unencrypted state of a wallet, stored in a single file that is replaced as a whole.
///
/// It does not contain anything to verify a PIN with: no public or private PIN key and no signature. The slots can only
/// be opened with a share that the server holds (docs/protocol.md, G2).
struct LocalState: Codable, Hashable, Sendable {
    /// The format version of the file.
    ///
    /// Files with another version are rejected and left unchanged.
    var version = LocalState.currentVersion
    /// The format version that this app writes and reads.
    static let currentVersion = 3

    /// The token and the key attested for it; removed after the first session.
    var enrollment: PendingEnrollment?
    var registration: LocalRegistration?
    /// The id of a wallet that was wiped on this device, if the server has not been notified yet.
    var unreportedWipe: WalletID?

    /// Whether the file can be removed.
    var isEmpty: Bool { self.enrollment == nil && self.registration == nil && self.unreportedWipe == nil }
}

/// An enrollment that can be retried with the same token, hardware key and evidence.
struct PendingEnrollment: Codable, Hashable, Sendable {
    var token: StoredBytes
    var walletID: WalletID
    /// Milliseconds since 1970 according to the server's clock.
    var expiresAtMs: Int64
    var evidence: StoredEvidence
}

/// The file format for a device's evidence, which a platform may issue only once per key.
enum StoredEvidence: Codable, Hashable, Sendable {
    case android(certificates: [StoredBytes])
    case apple(object: StoredBytes, keyID: SHA256Digest)
}

/// A registration confirmed by the server.
struct LocalRegistration: Codable, Hashable, Sendable {
    var walletID: WalletID
    /// The last known current pair, followed by all pairs that were sent to replace it.
    ///
    /// A message that we believe to be lost may still arrive while the first pair is current. We do not remove a pair
    /// until a valid PIN has opened the slot of a successor.
    var pairs: [PINPair]
    var progress: StoredProgress
    /// Whether a session has been opened.
    ///
    /// Before that, the token can be registered again.
    var hadSession: Bool
    var biometrics: BiometricSlot?
    /// True once an issuer has identified the user, and nil before that.
    var hasPID: Bool?

    var biometricMode: BiometricMode {
        switch self.biometrics?.guardsPINSlots {
        case .none: .off
        case .some(false): .fallback
        case .some(true): .safe
        }
    }

    func pair(_ id: PINKeyID) -> PINPair? { self.pairs.first { $0.id == id } }
}

/// The file format for ``SetupProgress``.
enum StoredProgress: String, Codable, Hashable, Sendable {
    case registered, secured, done

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

/// The data stored on the device for a PIN: the PIN key id on the server, the salt, and the data key sealed in a slot.
struct PINPair: Codable, Hashable, Sendable {
    var id: PINKeyID
    var salt: StoredBytes
    var slot: StoredBytes
    /// The slot under the next unlock share, if the share is being replaced.
    ///
    /// It exists from the time the wallet creates it until it knows that the server has replaced the share.
    var nextSlot: StoredBytes?

    /// Creates a pair with a random id and salt for a new PIN.
    ///
    /// If the unlock share is being replaced, the pair also has a slot for `next`.
    static func make(
        for entry: PINEntry,
        dataKey: borrowing SecretBytes,
        share: Share,
        next: Share?,
        walletID: WalletID
    ) -> PINPair {
        let salt = SecretBytes.random(count: PINKey.saltByteCount)
        var pair = self.make(for: entry, id: .random(), salt: salt, dataKey: dataKey, share: share, walletID: walletID)
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
        var pair = PINPair(id: id, salt: StoredBytes(salt.exposedBytes()), slot: StoredBytes([]))
        pair.slot = pair.slot(for: entry, dataKey: dataKey, share: share, walletID: walletID)
        return pair
    }

    /// Seals the data key for this pair with the PIN and a share.
    func slot(for entry: PINEntry, dataKey: borrowing SecretBytes, share: Share, walletID: WalletID) -> StoredBytes {
        let slotKey = self.slotKey(for: entry, share: share, walletID: walletID)
        return StoredBytes(slotKey.seal(dataKey, associatedData: Self.label(id: self.id, walletID: walletID)))
    }

    private func slotKey(for entry: PINEntry, share: Share, walletID: WalletID) -> SecretBytes {
        let salt = SecretBytes(copying: self.salt.bytes)
        let part = entry.withPIN { SlotKeys.part(pin: $0, salt: salt) }
        return SlotKeys.pinSlot(part: part, share: share, walletID: walletID)
    }

    /// Returns the data key; throws if the PIN or the share is wrong.
    ///
    /// This is the only proof of a `valid` verdict that a wallet accepts.
    func open(with entry: PINEntry, share: Share, walletID: WalletID) throws(SealBroken) -> SecretBytes {
        let slotKey = self.slotKey(for: entry, share: share, walletID: walletID)
        return try slotKey.open(self.slot.bytes, associatedData: Self.label(id: self.id, walletID: walletID))
    }

    /// Returns the pair with only its slot under the next share.
    func promoted() -> PINPair {
        guard let nextSlot = self.nextSlot else { return self }
        var pair = self
        (pair.slot, pair.nextSlot) = (nextSlot, nil)
        return pair
    }

    /// Derives the PIN key from the PIN and this pair's salt.
    ///
    /// The key must only be kept while signing.
    func key(for entry: PINEntry) -> PINKey {
        let salt = SecretBytes(copying: self.salt.bytes)
        return entry.withPIN { PINKey(pin: $0, salt: salt) }
    }

    private static func label(id: PINKeyID, walletID: WalletID) -> [UInt8] {
        Array("pin slot".utf8) + [0] + walletID.bytes + id.bytes
    }
}

/// Data that can only be read while the wallet is unlocked, because it is sealed under the data key.
struct AccessData: Hashable, Sendable {
    /// The check value of the unlock share, which authenticates the share when no slot can be opened
    /// (docs/testing-guide.md, The safe biometric mode).
    var shareCheck: [UInt8]
    /// The check value of the next unlock share, or nil if the shares are not being replaced.
    var nextShareCheck: [UInt8]?
    /// The deletion code, until the user confirms having written it down.
    var deletionCode: DeletionCode?

    private static let version: UInt8 = 1
    /// The version that also contains the next unlock share's check value.
    private static let versionWithNext: UInt8 = 2
    private static let checkByteCount = 32

    init(shareCheck: [UInt8], deletionCode: DeletionCode?) {
        self.shareCheck = shareCheck
        self.deletionCode = deletionCode
    }

    /// Opens data returned by ``sealed(under:walletID:)``.
    init(opening sealed: [UInt8], under dataKey: borrowing SecretBytes, walletID: WalletID) throws(SealBroken) {
        let opened = try dataKey.open(sealed, associatedData: Self.label(walletID)).exposedBytes()
        let checks = opened.first == Self.versionWithNext ? 2 : 1
        guard opened.first == Self.version || checks == 2, opened.count >= 1 + checks * Self.checkByteCount else {
            throw SealBroken()
        }
        self.shareCheck = Array(opened[1...Self.checkByteCount])
        if checks == 2 { self.nextShareCheck = Array(opened[(1 + Self.checkByteCount)...].prefix(Self.checkByteCount)) }
        let code = opened.dropFirst(1 + checks * Self.checkByteCount)
        self.deletionCode = DeletionCode(String(decoding: code, as: UTF8.self))
    }

    func sealed(under dataKey: borrowing SecretBytes, walletID: WalletID) -> [UInt8] {
        var bytes = [self.nextShareCheck == nil ? Self.version : Self.versionWithNext] + self.shareCheck
        bytes += self.nextShareCheck ?? []
        if let code = self.deletionCode { bytes += Array(code.characters.utf8) }
        return dataKey.seal(SecretBytes(copying: bytes), associatedData: Self.label(walletID))
    }

    /// Returns whether this is the wallet's unlock share or the one that will replace it.
    func accepts(_ share: Share) -> Bool {
        let check = SlotKeys.checkValue(share: share)
        let isNext = self.nextShareCheck.map { constantTimeEqual(check, $0) } ?? false
        return constantTimeEqual(check, self.shareCheck) || isNext
    }

    private static func label(_ walletID: WalletID) -> [UInt8] {
        Array("access data".utf8) + [0] + walletID.bytes
    }
}

/// The file format for bytes: lowercase hexadecimal.
struct StoredBytes: Codable, Hashable, Sendable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let bytes = [UInt8](hex: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "bytes in hex")
        }
        self.bytes = bytes
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.bytes.hex)
    }
}
