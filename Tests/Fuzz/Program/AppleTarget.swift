internal import AttestationVerifier
internal import Evidence
internal import Lab
internal import Vocabulary

/// The verification of App Attest attestations and assertions, including the checks after those of the signatures and
/// the nonce.
///
/// An input is a byte for ``ChainRepair/Omitted`` and the CBOR object.
final class AppleTarget: FuzzTarget {
    let format: InputFormat? = .cbor
    let optionByteCount = 1

    private static let extensionID: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 8, 2]
    private let key = AppAttestKey(TestKeys.chain[0], appID: LabApp.iOSAppID)
    private let verifier = EvidenceVerifier(
        policy: AndroidTarget.policy,
        androidAnchors: [],
        appleAnchors: AndroidTarget.anchors
    )

    func run(_ input: [UInt8]) {
        guard let options = input.first else { return }
        let omitted = ChainRepair.Omitted(rawValue: options)
        var object = Array(input.dropFirst())
        if var nodes = InputFormat.cbor.nodes(of: object), var members = nodes.first?.children {
            self.repairAttestation(&members, omitted)
            self.repairAssertion(&members, omitted)
            nodes[0].children = members
            object = InputFormat.cbor.bytes(of: nodes)
        }
        self.verifyAttestation(object, options)
        let result = AssertionVerifier.verify(
            assertion: object,
            clientDataHash: AndroidTarget.challenge,
            key: self.key.key.publicKey,
            appID: self.key.appID,
            previousCounter: 3
        )
        if case .success(let data) = result { require(data.counter > 3, "a used counter is accepted") }
    }

    private func verifyAttestation(_ object: [UInt8], _ options: UInt8) {
        var verification = Verification()
        let result = self.verifier.verify(
            appleObject: object,
            keyID: self.key.id.bytes,
            clientDataHash: AndroidTarget.challenge,
            at: AndroidTarget.time,
            verification: &verification
        )
        require(verification.signatureChecks <= EvidenceLimits.signatureChecks, "too many signature checks")
        if case .success = result {
            require(!ChainRepair.Omitted(rawValue: options).contains(.signatures), "forged evidence is accepted")
        }
    }

    private func repairAttestation(_ members: inout [Node], _ omitted: ChainRepair.Omitted) {
        guard let data = members.valueIndex(of: "authData").map({ members[$0].bytes }),
            let statement = members.valueIndex(of: "attStmt"),
            let list = members[statement].children.valueIndex(of: "x5c")
        else { return }
        let items = members[statement].children[list].children
        var chain = items.compactMap(\.children.first)
        guard chain.count == items.count, !chain.isEmpty else { return }
        if !omitted.contains(.challenge) {
            let nonce = AppAttestAssertion.nonce(
                authenticatorData: data,
                clientDataHash: AndroidTarget.challenge.bytes
            )
            chain[0].changeValue(after: Self.extensionID) {
                $0.content = .bytes(CertificateExtension.nonce(nonce).value)
            }
        }
        let repaired = ChainRepair(omitted: omitted, includesRoot: false).repaired(chain)
        members[statement].children[list].children = repaired.map { Node([0x40], .nodes([$0], .der)) }
    }

    private func repairAssertion(_ members: inout [Node], _ omitted: ChainRepair.Omitted) {
        guard let data = members.valueIndex(of: "authenticatorData").map({ members[$0].bytes }),
            let signature = members.valueIndex(of: "signature"), !omitted.contains(.signatures)
        else { return }
        let nonce = AppAttestAssertion.nonce(authenticatorData: data, clientDataHash: AndroidTarget.challenge.bytes)
        members[signature].content = .bytes(self.key.key.derSignature(for: nonce.bytes))
    }

    var seeds: [[UInt8]] {
        let authority = LabAuthority()
        var data = self.key.attestedData
        data.extensions = AppAttestExtensions(validationCategory: .appStore, bundleVersion: "1")
        var later = data
        later.extensions = [UInt8](hex: "bf6161fb3ff00000000000007f61626163ffc11a00000001ffa0").flatMap { bytes in
            try? AppAttestExtensions(decoding: bytes[...])
        }
        return [self.key.attestedData, data, later].map { data in
            [0]
                + self.key.attestation(
                    saying: data,
                    challenge: AndroidTarget.challenge,
                    by: authority,
                    at: AndroidTarget.time
                ).encoded
        } + [[0] + self.key.assertion(for: AndroidTarget.challenge, counter: 7).encoded]
    }
}
