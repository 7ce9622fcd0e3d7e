import Testing
import Vocabulary
import WalletStore

/// A store in a separate folder, with one wallet.
struct TestWallet {
    let store: any WalletStore
    let id: WalletID
    let hardwareKey: SHA256Digest
    var keyID: PINKeyID
    var pinKey: P256PublicKey
    var identity: Sealed

    static let start = Timestamp(milliseconds: 1_700_000_000_000)

    /// Registers a wallet and, by default, opens its first session.
    init(
        in store: any WalletStore,
        deletionDigest: SHA256Digest? = nil,
        assertionCounter: UInt32? = nil,
        unlockShare: Sealed = bytes(80),
        presenceShare: Sealed = bytes(80),
        announcing receiptVersion: UInt32? = nil,
        opened: Bool = true
    ) async throws {
        self.store = store
        self.id = .random()
        self.hardwareKey = try #require(SHA256Digest(Self.bytes(32)))
        self.keyID = .random()
        self.pinKey = try Self.publicKey()
        self.identity = Self.bytes(300)
        let registration = self.registration(
            deletionDigest: deletionDigest,
            assertionCounter: assertionCounter,
            unlockShare: unlockShare,
            presenceShare: presenceShare
        )
        let outcome = try await store.register(registration)
        #expect(outcome == .registered(receiptVersion: receiptVersion))
        if opened { _ = try await self.session(counter: assertionCounter.map { $0 + 1 }) }
    }

    func registration(
        deletionDigest: SHA256Digest? = nil,
        assertionCounter: UInt32? = nil,
        unlockShare: Sealed = bytes(80),
        presenceShare: Sealed = bytes(80),
        hardwareKey: SHA256Digest? = nil
    ) -> NewRegistration {
        NewRegistration(
            walletID: self.id,
            hardwareKeyDigest: hardwareKey ?? self.hardwareKey,
            identity: self.identity,
            pinKeyID: self.keyID,
            unlockShare: unlockShare,
            presenceShare: presenceShare,
            deletionCode: deletionDigest.map { (Self.bytes(60), $0) },
            assertionCounter: assertionCounter,
            attested: #"{"platform":"android"}"#,
            now: Self.start
        )
    }

    @discardableResult
    func session(counter: UInt32? = nil, now: Timestamp = start) async throws -> SessionOutcome {
        try await self.store.beginSession(self.newSession(counter: counter, now: now))
    }

    func newSession(counter: UInt32? = nil, now: Timestamp = start) -> NewSession {
        NewSession(
            walletID: self.id,
            identity: self.identity,
            assertionCounter: counter,
            policy: .standard,
            now: now
        )
    }

    func attempt(
        right: Bool,
        effect: Attempt.Effect = .releaseShare,
        id: AttemptID = .random(),
        policy: AttemptPolicy = .standard,
        now: Timestamp = start
    ) throws -> Attempt {
        Attempt(
            walletID: self.id,
            attemptID: id,
            namedKeyID: self.keyID,
            identity: self.identity,
            pinKey: self.pinKey,
            candidate: right ? self.pinKey : try Self.publicKey(),
            effect: effect,
            policy: policy,
            now: now
        )
    }

    static func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in .random(in: .min ... .max) }
    }

    static func publicKey() throws -> P256PublicKey {
        try #require(P256PublicKey([0x04] + self.bytes(64)))
    }

    /// A recovery code's MAC with these bytes.
    static func mac(_ bytes: [UInt8]) throws -> RecoveryCodeMAC { try #require(RecoveryCodeMAC(bytes)) }

    static func digest() throws -> SHA256Digest {
        try #require(SHA256Digest(self.bytes(32)))
    }
}
