internal import AttestationVerifier
internal import Evidence
internal import Lab
internal import Vocabulary

/// The verification of Android evidence, including the checks after those of the signatures and the challenge.
///
/// An input is a byte for ``ChainRepair/Omitted`` and the certificates, leaf first.
final class AndroidTarget: FuzzTarget {
    let format: InputFormat? = .der
    let optionByteCount = 1

    static let time = Timestamp(milliseconds: 1_795_000_000_000)
    static let challenge = sha256([1])
    static let policy = AttestationPolicy(
        android: AndroidPolicy(
            apps: [AndroidApp(package: LabApp.androidPackage, signatureDigests: [LabApp.androidSigningDigest])]
        ),
        apple: ApplePolicy(apps: [AppleApp(id: LabApp.iOSAppID)])
    )
    static let anchors = [TrustAnchor(certificate: TestKeys.rootCertificate)].compactMap(\.self)
    private static let extensionID: [UInt8] = [0x2B, 6, 1, 4, 1, 0xD6, 0x79, 2, 1, 0x11]
    private static let challengeMember = 4

    /// A verifier with the most lenient policy and one with the strictest.
    private let verifiers: [EvidenceVerifier]

    init() {
        var lenient = Self.policy
        lenient.android.apps = nil
        lenient.android.allowsAttestKeys = true
        lenient.android.keyRules = .any
        lenient.android.bootStates = []
        lenient.android.requiresLockedDevice = false
        var strict = Self.policy
        strict.android.validity = .strict
        strict.android.minimumOSPatchLevel = PatchLevel("2026-01")
        strict.android.minimumVendorPatchLevel = PatchLevel("2026-01-01")
        strict.android.minimumBootPatchLevel = PatchLevel("2026-01-01")
        self.verifiers = [lenient, strict].map {
            EvidenceVerifier(policy: $0, androidAnchors: Self.anchors, appleAnchors: [])
        }
    }

    func run(_ input: [UInt8]) {
        guard let options = input.first else { return }
        let rest = Array(input.dropFirst())
        let chain = InputFormat.der.nodes(of: rest).map { self.chain($0, ChainRepair.Omitted(rawValue: options)) }
        for verifier in self.verifiers {
            var verification = Verification()
            let result = verifier.verify(
                android: chain ?? [rest],
                challenge: Self.challenge,
                at: Self.time,
                verification: &verification
            )
            require(verification.signatureChecks <= EvidenceLimits.signatureChecks, "too many signature checks")
            if case .success = result {
                require(
                    !ChainRepair.Omitted(rawValue: options).contains(.signatures),
                    "a forged chain is accepted"
                )
            }
        }
    }

    /// The repaired certificates.
    private func chain(_ nodes: [Node], _ omitted: ChainRepair.Omitted) -> [[UInt8]] {
        var nodes = nodes
        if !omitted.contains(.challenge) {
            nodes[0].changeValue(after: Self.extensionID) { value in
                guard var description = value.children.first, description.children.count > Self.challengeMember else {
                    return
                }
                description.children[Self.challengeMember].content = .bytes(Self.challenge.bytes)
                value.children[0] = description
            }
        }
        let repair = ChainRepair(omitted: omitted, includesRoot: true)
        return repair.repaired(nodes).map { InputFormat.der.bytes(of: [$0]) }
    }

    var seeds: [[UInt8]] {
        let (authority, time) = (LabAuthority(), Self.time)
        let description = AndroidPhone().keyDescription(challenge: Self.challenge, at: time)
        let batches: [AndroidBatch] = [.factory, .remote, .expired, .long(2)]
        return batches.map { batch in
            let chain = authority.androidChain(
                for: TestKeys.chain[0].publicKey,
                description: description,
                batch: batch,
                at: time
            )
            return [0] + chain.joined()
        }
    }
}
