import AttestationVerifier
import Evidence
import Lab
import Testing
import Vocabulary

@Suite("App Attest")
struct AppleVerifierTests {
    private static let authority = LabAuthority()
    private let now = Timestamp(milliseconds: 1_795_000_000_000)
    private let key = SigningKey()
    private let hash = sha256([1, 2, 3])
    private let appID = "EXAMPLE123.org.example.wallet"

    private var policy: ApplePolicy { ApplePolicy(apps: [AppleApp(id: "OTHER12345.x"), AppleApp(id: self.appID)]) }
    private var keyID: [UInt8] { sha256(self.key.publicKey.bytes).bytes }

    private func object(_ change: (inout AuthenticatorData) -> Void = { _ in }) -> AppAttestObject {
        var data = AuthenticatorData(
            rpIDHash: sha256(Array(self.appID.utf8)),
            flags: AuthenticatorData.hasCredential,
            counter: 0,
            credential: AuthenticatorData.Credential(
                aaguid: AppAttestEnvironment.production.aaguid,
                id: self.keyID,
                key: AuthenticatorData.Credential.coseKey(self.key.publicKey)
            ),
            extensions: nil
        )
        change(&data)
        let nonce = AppAttestAssertion.nonce(authenticatorData: data.encoded, clientDataHash: self.hash.bytes)
        let chain = Self.authority.appAttestChain(for: self.key.publicKey, nonce: nonce, at: self.now)
        return AppAttestObject(certificates: chain, receipt: [1], authenticatorData: data.encoded)
    }

    private func refusal(
        _ object: [UInt8],
        policy: ApplePolicy? = nil,
        anchors: [TrustAnchor]? = nil,
        challenge: SHA256Digest? = nil,
        verification: inout Verification
    ) -> AttestationRefusal? {
        let lab = [TrustAnchor(name: "lab", certificate: Self.authority.appleRootCertificate)].compactMap { $0 }
        let verifier = AppleVerifier(policy: policy ?? self.policy, anchors: anchors ?? lab)
        do throws(AttestationRefusal) {
            _ = try verifier.verify(
                object: object,
                keyID: self.keyID,
                clientDataHash: (challenge ?? self.hash).bytes,
                at: self.now,
                verification: &verification
            )
            return nil
        } catch {
            return error
        }
    }

    private func refusal(_ object: AppAttestObject, policy: ApplePolicy? = nil) -> AttestationRefusal? {
        var verification = Verification()
        return self.refusal(object.encoded, policy: policy, verification: &verification)
    }

    @Test("a valid attestation is accepted, with and without extensions at the end")
    func accepted() {
        #expect(self.refusal(self.object()) == nil)
        let extensions = AppAttestExtensions(validationCategory: .appStore, bundleVersion: "7")
        #expect(self.refusal(self.object { $0.extensions = extensions }) == nil)
    }

    struct ExtensionCase: Sendable {
        let hex: String
        var categories: Set<ValidationCategory>?
        var minimum: String?
        /// Whether evidence without the extensions is accepted.
        var isLenient = false
        let refusal: AttestationRefusal?
    }

    private static let category = "781c" + Array("apple_validation_category_01".utf8).hex
    private static let version = "77" + Array("apple_bundle_version_01".utf8).hex
    private static let appStore = "a1" + Self.category + "4404000000"
    private static let build1314 = "a1" + Self.version + "6431333134"

    @Test(
        "category and bundle version must be as required; the operator decides only about missing ones",
        arguments: [
            ExtensionCase(hex: Self.appStore, categories: [.appStore], refusal: nil),
            ExtensionCase(hex: Self.appStore, categories: [.testFlight, .appStore], isLenient: true, refusal: nil),
            ExtensionCase(hex: Self.appStore, categories: [.testFlight], isLenient: true, refusal: .validationCategory),
            ExtensionCase(hex: Self.appStore, categories: [], isLenient: true, refusal: .validationCategory),
            // An unknown category, and one that is not four bytes.
            ExtensionCase(
                hex: "a1" + Self.category + "440b000000",
                categories: [.appStore],
                isLenient: true,
                refusal: .validationCategory
            ),
            ExtensionCase(
                hex: "a1" + Self.category + "04",
                categories: [.appStore],
                isLenient: true,
                refusal: .validationCategory
            ),
            ExtensionCase(hex: "a1" + Self.category + "04", refusal: nil),
            ExtensionCase(hex: "", categories: [.appStore], refusal: .validationCategory),
            ExtensionCase(hex: "", categories: [.appStore], isLenient: true, refusal: nil),
            ExtensionCase(hex: Self.build1314, categories: [.appStore], refusal: .validationCategory),
            ExtensionCase(hex: Self.build1314, categories: [.appStore], isLenient: true, refusal: nil),
            ExtensionCase(hex: Self.build1314, minimum: "1314", refusal: nil),
            ExtensionCase(hex: Self.build1314, minimum: "1314.0.1", isLenient: true, refusal: .appVersionTooOld),
            ExtensionCase(hex: Self.appStore, minimum: "1", refusal: .appVersionTooOld),
            ExtensionCase(hex: Self.appStore, minimum: "1", isLenient: true, refusal: nil),
            ExtensionCase(
                hex: "a1" + Self.version + "6139" + Self.build1314,
                minimum: "1",
                isLenient: true,
                refusal: .appVersionTooOld
            ),
            // A version that is not a number.
            ExtensionCase(
                hex: "a1" + Self.version + "6178",
                minimum: "1",
                isLenient: true,
                refusal: .appVersionTooOld
            ),
        ]
    )
    func extensions(_ item: ExtensionCase) throws {
        let bytes = try #require([UInt8](hex: item.hex))
        let extensions = bytes.isEmpty ? nil : try AppAttestExtensions(decoding: bytes[...])
        var policy = ApplePolicy(apps: [AppleApp(id: self.appID)])
        policy.apps[0].minimumVersion = item.minimum.flatMap { BundleVersion($0) }
        #expect((policy.apps[0].minimumVersion == nil) == (item.minimum == nil))
        policy.categories = item.categories
        policy.acceptsMissingExtensions = item.isLenient
        #expect(self.refusal(self.object { $0.extensions = extensions }, policy: policy) == item.refusal)
    }

    @Test("an environment is accepted only if it is configured", arguments: AppAttestEnvironment.allCases)
    func environments(environment: AppAttestEnvironment) {
        let object = self.object { $0.credential?.aaguid = environment.aaguid }
        for configured in AppAttestEnvironment.allCases {
            let policy = ApplePolicy(apps: [AppleApp(id: self.appID)], environments: [configured])
            #expect(self.refusal(object, policy: policy) == (configured == environment ? nil : .environmentMismatch))
        }
        let unknown = self.object { $0.credential?.aaguid = Array(repeating: 0, count: 16) }
        #expect(self.refusal(unknown) == .environmentMismatch)
    }

    @Test("another app, a used key and another key's id or point are rejected")
    func statements() {
        #expect(self.refusal(self.object { $0.rpIDHash = sha256([]) }) == .rpIDMismatch)
        #expect(self.refusal(self.object { $0.counter = 1 }) == .counterNotZero)
        #expect(self.refusal(self.object { $0.credential?.id = [1] }) == .credentialIDMismatch)
        let other = AuthenticatorData.Credential.coseKey(SigningKey().publicKey)
        #expect(self.refusal(self.object { $0.credential?.key = other }) == .publicKeyMismatch)
        #expect(self.refusal(self.object { $0.flags = 0 }) == .malformedAuthData)
        #expect(self.refusal(self.object(), policy: ApplePolicy(apps: [])) == .appNotConfigured)
    }

    @Test("a change of any byte of object, certificates or statement is rejected")
    func tampering() {
        let encoded = self.object().encoded
        // The verifier does not read the receipt's single byte; changes of all other bytes count.
        for position in stride(from: 0, to: encoded.count, by: 5) {
            var changed = encoded
            changed[position] ^= 0x04
            var verification = Verification()
            guard let object = try? AppAttestObject(decoding: changed), object.receipt == [1] else { continue }
            #expect(self.refusal(changed, verification: &verification) != nil, "byte \(position)")
        }
    }

    @Test("an attestation for another challenge is rejected")
    func otherChallenge() {
        var verification = Verification()
        let encoded = self.object().encoded
        #expect(self.refusal(encoded, challenge: sha256([3, 2, 1]), verification: &verification) == .nonceMismatch)
    }

    @Test("a root is trusted by its key; Apple's pinned one does not sign a lab's chains")
    func anchors() {
        let encoded = self.object().encoded
        var verification = Verification()
        #expect(TrustAnchor.apple.count == 1)
        #expect(self.refusal(encoded, anchors: TrustAnchor.apple, verification: &verification) == .untrustedRoot)
        #expect(verification.signatureChecks <= 1, "the links of a forged chain are not checked")
        #expect(self.refusal(encoded, anchors: [], verification: &verification) == .untrustedRoot)
    }

    @Test("with any number of anchors, at most twelve signatures are checked")
    func signatureChecks() {
        var verification = Verification()
        let anchors = Array(repeating: TrustAnchor.apple, count: 40).flatMap { $0 }
        #expect(self.refusal(self.object().encoded, anchors: anchors, verification: &verification) == .untrustedRoot)
        #expect(verification.signatureChecks == EvidenceLimits.signatureChecks)
    }

    @Test("evidence that is too large is rejected before it is read")
    func size() {
        var verification = Verification()
        let large = Array(repeating: UInt8(0x80), count: EvidenceLimits.byteCount + 1)
        #expect(self.refusal(large, verification: &verification) == .evidenceTooLarge)
        #expect(self.refusal([0x9A, 0x04, 0, 0, 0], verification: &verification) == .malformedCBOR)
    }

    private func assertion(counter: UInt32, hash: SHA256Digest, app: String) -> [UInt8] {
        let data = AuthenticatorData(
            rpIDHash: sha256(Array(app.utf8)),
            flags: AuthenticatorData.hasCredential,
            counter: counter,
            credential: nil,
            extensions: nil
        ).encoded
        let nonce = AppAttestAssertion.nonce(authenticatorData: data, clientDataHash: hash.bytes)
        return AppAttestAssertion(signature: self.key.derSignature(for: nonce.bytes), authenticatorData: data).encoded
    }

    private func verify(_ assertion: [UInt8], after previous: UInt32) -> Result<UInt32, AttestationRefusal> {
        AssertionVerifier.verify(
            assertion: assertion,
            clientDataHash: self.hash,
            key: self.key.publicKey,
            appID: self.appID,
            previousCounter: previous
        ).map(\.counter)
    }

    @Test(
        "an assertion counts only with a counter above the last one",
        arguments: [
            (1, 0, true), (0, 0, false), (5, 5, false), (4, 5, false), (.max, .max - 1, true), (.max, .max, false),
        ] as [(UInt32, UInt32, Bool)]
    )
    func counters(counter: UInt32, previous: UInt32, isAccepted: Bool) {
        let assertion = self.assertion(counter: counter, hash: self.hash, app: self.appID)
        let expected: Result<UInt32, AttestationRefusal> =
            isAccepted ? .success(counter) : .failure(.counterNotIncreased)
        #expect(self.verify(assertion, after: previous) == expected)
    }

    @Test("an assertion of another statement, app or key, or with a changed byte, is rejected")
    func assertions() {
        let good = self.assertion(counter: 1, hash: self.hash, app: self.appID)
        #expect(
            self.verify(self.assertion(counter: 1, hash: sha256([]), app: self.appID), after: 0)
                == .failure(.badSignature)
        )
        #expect(self.verify(self.assertion(counter: 1, hash: self.hash, app: "x"), after: 0) == .failure(.rpIDMismatch))
        #expect(self.verify(good + [0], after: 0) == .failure(.malformedCBOR))
        for position in good.indices {
            var changed = good
            changed[position] ^= 0x01
            guard case .failure = self.verify(changed, after: 0) else {
                Issue.record("byte \(position)")
                continue
            }
        }
    }
}
