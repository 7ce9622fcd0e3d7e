internal import Evidence
internal import Secrets
internal import TestSupport
internal import Vocabulary
internal import WalletStore

/// A wallet in a store, with values that no vault has sealed.
struct StoredTestWallet {
    private let id = WalletID.random()
    private let keyID = PINKeyID.random()
    private let identity = SecretBytes.random(count: 300).exposedBytes()

    /// The number of wrong PINs after ``judge(rightPINs:in:)``.
    static let wrongPINs = 3

    func register(in store: SQLiteWalletStore, at now: Timestamp) async throws {
        let registration = NewRegistration(
            walletID: self.id,
            hardwareKeyDigest: sha256(self.id.bytes),
            identity: self.identity,
            pinKeyID: self.keyID,
            unlockShare: SecretBytes.random(count: 80).exposedBytes(),
            presenceShare: SecretBytes.random(count: 80).exposedBytes(),
            deletionCode: nil,
            assertionCounter: nil,
            attested: #"{"platform":"android"}"#,
            now: now
        )
        _ = try await store.register(registration)
    }

    /// Judges right PINs, then ``wrongPINs`` wrong ones, each in its own commit.
    func judge(rightPINs: Int, in store: SQLiteWalletStore, at now: Timestamp) async throws {
        for number in 0..<(rightPINs + Self.wrongPINs) {
            let candidate = number < rightPINs ? TestKeys.chain[0] : TestKeys.chain[1]
            let attempt = Attempt(
                walletID: self.id,
                attemptID: .random(),
                namedKeyID: self.keyID,
                identity: self.identity,
                pinKey: TestKeys.chain[0].publicKey,
                candidate: candidate.publicKey,
                effect: .releaseShare,
                policy: .standard,
                now: now
            )
            _ = try await store.judge(attempt)
        }
    }
}
