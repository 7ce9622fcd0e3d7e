import AttestationVerifier
import Crypto
import Evidence
import Foundation
import Lab
import Vocabulary

/// Measures attestation verifications per second, each beside the bare signature checks that it requires.
///
/// Runs on one core of this process, with evidence of a lab's authority, whose signatures are all P-256.
@main
struct AttestationBench {
    private static let app = "org.example.wallet"
    private static let appID = "EXAMPLE123.org.example.wallet"
    private static let now = Timestamp(milliseconds: 1_795_000_000_000)
    private static let challenge = sha256([1, 2, 3])

    private let authority = LabAuthority()
    private let key = SigningKey()

    /// Measures each kind and prints a line for it.
    static func main() {
        let bench = AttestationBench()
        let bare = bench.bareCheck()
        let lines = [
            bench.android("Android, factory chain", .factory, bare),
            bench.android("Android, remote chain", .remote, bare),
            bench.appAttest(bare), bench.assertion(bare),
        ]
        print("attestation               whole  bare signature checks   share")
        for line in lines { print(line) }
    }

    private func android(_ name: String, _ batch: AndroidBatch, _ bare: Double) -> String {
        let chain = self.authority.androidChain(
            for: self.key.publicKey,
            description: Self.description,
            batch: batch,
            at: Self.now
        )
        let verifier = self.verifier
        return self.line(name, bare) { account in
            let verdict = verifier.verify(
                android: chain,
                challenge: Self.challenge,
                at: Self.now,
                verification: &account
            )
            return (try? verdict.get()) != nil
        }
    }

    private func appAttest(_ bare: Double) -> String {
        let keyID = sha256(self.key.publicKey.bytes)
        let data = AuthenticatorData(
            rpIDHash: sha256(Array(Self.appID.utf8)),
            flags: AuthenticatorData.hasCredential,
            counter: 0,
            credential: AuthenticatorData.Credential(
                aaguid: AppAttestEnvironment.production.aaguid,
                id: keyID.bytes,
                key: AuthenticatorData.Credential.coseKey(self.key.publicKey)
            ),
            extensions: nil
        ).encoded
        let nonce = AppAttestAssertion.nonce(authenticatorData: data, clientDataHash: Self.challenge.bytes)
        let object = AppAttestObject(
            certificates: self.authority.appAttestChain(for: self.key.publicKey, nonce: nonce, at: Self.now),
            receipt: nil,
            authenticatorData: data
        ).encoded
        let verifier = self.verifier
        return self.line("App Attest, attestation", bare) { account in
            let verdict = verifier.verify(
                appleObject: object,
                keyID: keyID.bytes,
                clientDataHash: Self.challenge,
                at: Self.now,
                verification: &account
            )
            return (try? verdict.get()) != nil
        }
    }

    private func assertion(_ bare: Double) -> String {
        let data = AuthenticatorData(
            rpIDHash: sha256(Array(Self.appID.utf8)),
            flags: AuthenticatorData.hasCredential,
            counter: 1,
            credential: nil,
            extensions: nil
        ).encoded
        let nonce = AppAttestAssertion.nonce(authenticatorData: data, clientDataHash: Self.challenge.bytes)
        let assertion = AppAttestAssertion(
            signature: self.key.derSignature(for: nonce.bytes),
            authenticatorData: data
        ).encoded
        return self.line("App Attest, assertion", bare, checks: 1) { _ in
            let verdict = AssertionVerifier.verify(
                assertion: assertion,
                clientDataHash: Self.challenge,
                key: self.key.publicKey,
                appID: Self.appID,
                previousCounter: 0
            )
            return (try? verdict.get()) != nil
        }
    }

    private var verifier: EvidenceVerifier {
        let anchors = [self.authority.androidRootCertificate, self.authority.appleRootCertificate].compactMap {
            TrustAnchor(certificate: $0)
        }
        let app = AndroidApp(package: Self.app, signatureDigests: [])
        return EvidenceVerifier(
            policy: AttestationPolicy(
                android: AndroidPolicy(apps: [app]),
                apple: ApplePolicy(apps: [AppleApp(id: Self.appID)])
            ),
            androidAnchors: anchors,
            appleAnchors: Array(anchors.dropFirst())
        )
    }

    private static var description: KeyDescription {
        let root = RootOfTrust(
            verifiedBootKey: [1],
            isDeviceLocked: true,
            verifiedBootState: .verified,
            verifiedBootHash: [2]
        )
        let package = ApplicationID.Package(name: Self.app, version: 1)
        return KeyDescription(
            version: 300,
            securityLevel: .trustedEnvironment,
            challenge: Self.challenge.bytes,
            softwareEnforced: AuthorizationList([
                .init(
                    709,
                    .application(ApplicationID(packages: [package], signatureDigests: [Array(repeating: 1, count: 32)]))
                )
            ]),
            hardwareEnforced: AuthorizationList([
                .init(1, .integers([2])), .init(5, .integers([4])), .init(702, .integer(0)),
                .init(704, .rootOfTrust(root)), .init(706, .integer(202_610)),
            ])
        )
    }

    /// One P-256 verification by the library, from key bytes and signature bytes, in microseconds of CPU time.
    private func bareCheck() -> Double {
        let message = Array(repeating: 1 as UInt8, count: 500)
        let (signature, key) = (self.key.derSignature(for: message), self.key.publicKey.bytes)
        return Self.cost(rounds: 2000) {
            guard let key = try? P256.Signing.PublicKey(x963Representation: key),
                let signature = try? P256.Signing.ECDSASignature(derRepresentation: signature)
            else { return false }
            return key.isValidSignature(signature, for: message)
        }
    }

    /// Times `verify`; the verification counts its signature checks unless `checks` gives their number.
    private func line(
        _ name: String,
        _ bare: Double,
        checks: Int? = nil,
        _ verify: (inout AttestationVerifier.Verification) -> Bool
    ) -> String {
        var account = AttestationVerifier.Verification()
        precondition(verify(&account), "the lab's evidence is accepted: \(account.passed)")
        let sum = bare * Double(checks ?? account.signatureChecks)
        let whole = Self.cost(rounds: 1000) {
            var account = AttestationVerifier.Verification()
            return verify(&account)
        }
        return String(
            format: "%@ %7.1f µs CPU %7.0f /s   %d checks %7.1f µs   %.2f",
            name.padding(toLength: 23, withPad: " ", startingAt: 0),
            whole,
            1e6 / whole,
            checks ?? account.signatureChecks,
            sum,
            sum / whole
        )
    }

    /// Microseconds of CPU time, the best of five passes.
    private static func cost(rounds: Int, _ body: () -> Bool) -> Double {
        (0..<5).map { _ in
            let before = clock()
            for _ in 0..<rounds { precondition(body(), "the measured operation succeeds") }
            return Double(clock() - before) / Double(CLOCKS_PER_SEC) * 1e6 / Double(rounds)
        }.min() ?? 0
    }
}
