import AttestationVerifier
import Evidence
import Lab
import Vocabulary

/// A valid Android attestation under a lab's authority, with properties that a test can change.
struct AndroidCase {
    static let authority = LabAuthority()
    static let key = SigningKey()
    static let now = Timestamp(milliseconds: 1_795_000_000_000)
    static let digest: [UInt8] = Array(repeating: 0xAB, count: 32)

    var challenge: [UInt8] = [1, 2, 3, 4]
    var level = SecurityLevel.trustedEnvironment
    var batch = AndroidBatch.factory
    var root: RootOfTrust? = RootOfTrust(
        verifiedBootKey: [1],
        isDeviceLocked: true,
        verifiedBootState: .verified,
        verifiedBootHash: [2]
    )
    var packages = [ApplicationID.Package(name: "org.example.wallet", version: 100)]
    var digests = [Self.digest]
    var hardware = AuthorizationList([
        .init(1, .integers([2])), .init(2, .integer(3)), .init(5, .integers([4])), .init(10, .integer(1)),
        .init(702, .integer(0)), .init(705, .integer(160_000)), .init(706, .integer(202_610)),
    ])
    var software = AuthorizationList()
    var policy = AndroidPolicy(apps: [AndroidApp(package: "org.example.wallet", signatureDigests: [Self.digest])])
    var statusList: StatusList?
    var time = Self.now

    var description: KeyDescription {
        var hardware = self.hardware
        hardware[.rootOfTrust] = self.root.map { .rootOfTrust($0) }
        var software = self.software
        software[.attestationApplicationID] = .application(
            ApplicationID(packages: self.packages, signatureDigests: self.digests)
        )
        return KeyDescription(
            version: 300,
            securityLevel: self.level,
            challenge: self.challenge,
            softwareEnforced: software,
            hardwareEnforced: hardware
        )
    }

    var chain: [[UInt8]] {
        Self.authority.androidChain(
            for: Self.key.publicKey,
            description: self.description,
            batch: self.batch,
            at: Self.now
        )
    }

    var verifier: AndroidVerifier {
        AndroidVerifier(
            policy: self.policy,
            anchors: [TrustAnchor(name: "lab", certificate: Self.authority.androidRootCertificate)].compactMap { $0 },
            statusList: self.statusList
        )
    }

    /// Nil if the attestation is accepted.
    func refusal(of chain: [[UInt8]]? = nil, challenge: [UInt8] = [1, 2, 3, 4]) -> AttestationRefusal? {
        var verification = Verification()
        do throws(AttestationRefusal) {
            _ = try self.verifier.verify(
                chain: chain ?? self.chain,
                challenge: challenge,
                at: self.time,
                verification: &verification
            )
            return nil
        } catch {
            return error
        }
    }

    /// A certificate for another key, signed by a key of the test.
    static func certificate(
        for key: SigningKey,
        signedBy issuer: SigningKey,
        issuer name: DistinguishedName = DistinguishedName(commonName: "Android Keystore Key"),
        description: KeyDescription? = nil
    ) -> [UInt8] {
        CertificateTemplate(
            serialNumber: [1],
            subject: DistinguishedName(commonName: "Android Keystore Key"),
            validity: Timestamp(milliseconds: 0)...Timestamp(milliseconds: 2_400_000_000_000),
            publicKey: key.publicKey,
            extensions: description.map { [.attestation($0)] } ?? []
        ).signed(by: issuer, issuer: name)
    }
}
