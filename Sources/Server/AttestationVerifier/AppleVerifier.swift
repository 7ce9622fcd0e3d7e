package import Evidence
package import Vocabulary

/// The complete verification of an App Attest attestation, in the order of the steps documented by Apple.
package struct AppleVerifier: Sendable {
    package var policy: ApplePolicy
    package var anchors: [TrustAnchor]

    package init(policy: ApplePolicy, anchors: [TrustAnchor]) {
        self.policy = policy
        self.anchors = anchors
    }

    /// Verifies an attestation object for the key with this id.
    ///
    /// - Parameter clientDataHash: The hash that the app passed to `attestKey`.
    package func verify(
        object encoded: [UInt8],
        keyID: [UInt8],
        clientDataHash: [UInt8],
        at time: Timestamp,
        verification: inout Verification
    ) throws(AttestationRefusal) -> AppleAttestation {
        guard !self.policy.apps.isEmpty else { throw .appNotConfigured }
        let object = try Self.read(encoded)
        guard object.certificates.count >= 2 else { throw .incompleteChain }
        let certificates = try CertificateChain.read(object.certificates)
        let leaf = certificates[0]
        verification.pass(Check.form)
        let anchor = try self.checkChain(certificates, &verification)
        verification.pass(Check.anchor)
        for certificate in certificates {
            guard time >= certificate.notBefore else { throw .certificateNotYetValid }
            guard time <= certificate.notAfter else { throw .certificateExpired }
        }
        verification.pass(Check.validity)
        guard let key = leaf.publicKey.p256 else { throw .keyTypeNotAllowed }
        let nonce = AppAttestAssertion.nonce(
            authenticatorData: object.authenticatorData,
            clientDataHash: clientDataHash
        )
        guard CertificateExtension.nonce(in: leaf) == nonce.bytes else { throw .nonceMismatch }
        verification.pass(Check.nonce)
        guard sha256(key.bytes).bytes == keyID else { throw .keyIDMismatch }
        verification.pass(Check.keyID)
        let data = try self.checkData(object.authenticatorData, keyID: keyID, key: key, &verification)
        return AppleAttestation(
            certificates: certificates,
            anchor: anchor,
            key: key,
            appID: data.appID,
            environment: data.environment,
            authenticatorData: data.data
        )
    }

    private static func read(_ encoded: [UInt8]) throws(AttestationRefusal) -> AppAttestObject {
        guard encoded.count <= EvidenceLimits.byteCount else { throw .evidenceTooLarge }
        do throws(AppAttestObjectError) {
            return try AppAttestObject(decoding: encoded)
        } catch {
            switch error {
            case .unknownFormat: throw .unsupportedFormat
            case .certificates: throw .incompleteChain
            case .cbor, .member: throw .malformedCBOR
            }
        }
    }

    /// Checks that the last certificate was signed by an anchor, and that every issuer is marked as a CA.
    ///
    /// The chain does not contain the anchor.
    private func checkChain(
        _ certificates: [Certificate],
        _ verification: inout Verification
    ) throws(AttestationRefusal) -> TrustAnchor {
        try CertificateChain.checkNames(certificates)
        guard let last = certificates.last else { throw .incompleteChain }
        let signer = self.anchors.first { anchor in
            guard let key = anchor.key, anchor.subject?.matches(last.issuer) ?? true else { return false }
            return verification.isSigned(last, by: key)
        }
        guard let signer else { throw .untrustedRoot }
        try CertificateChain.checkSignatures(certificates, &verification)
        guard certificates.dropFirst().allSatisfy(\.isAuthority) else { throw .issuerNotCA }
        return signer
    }

    private func checkData(
        _ encoded: [UInt8],
        keyID: [UInt8],
        key: P256PublicKey,
        _ verification: inout Verification
    ) throws(AttestationRefusal) -> (data: AuthenticatorData, appID: String, environment: AppAttestEnvironment) {
        guard let data = try? AuthenticatorData(decoding: encoded, withCredential: true),
            let credential = data.credential
        else { throw .malformedAuthData }
        guard let app = self.policy.apps.first(where: { sha256(Array($0.id.utf8)) == data.rpIDHash }) else {
            throw .rpIDMismatch
        }
        verification.pass(Check.app)
        guard data.counter == 0 else { throw .counterNotZero }
        verification.pass(Check.counter)
        guard let environment = AppAttestEnvironment(aaguid: credential.aaguid),
            self.policy.environments.contains(environment)
        else { throw .environmentMismatch }
        verification.pass(Check.environment)
        guard credential.id == keyID else { throw .credentialIDMismatch }
        guard credential.publicKey == key else { throw .publicKeyMismatch }
        verification.pass(Check.credential)
        guard self.isAccepted(data.extensions?.validationCategory, by: self.policy.categories?.contains) else {
            throw .validationCategory
        }
        verification.pass(Check.category)
        let isRecent = app.minimumVersion.map { minimum in
            { (text: String) in BundleVersion(text).map { $0 >= minimum } ?? false }
        }
        guard self.isAccepted(data.extensions?.bundleVersion, by: isRecent) else { throw .appVersionTooOld }
        verification.pass(Check.version)
        return (data, app.id, environment)
    }

    /// Returns whether a claim in the extension data meets a requirement, if there is one.
    ///
    /// The operator decides about missing claims. A claim that cannot be read is not missing: it is never accepted.
    private func isAccepted<Value>(
        _ claim: AppAttestExtensions.Claim<Value>?,
        by requirement: ((Value) -> Bool)?
    ) -> Bool {
        guard let requirement else { return true }
        return switch claim {
        case nil, .missing: self.policy.acceptsMissingExtensions
        case .unreadable: false
        case .value(let value): requirement(value)
        }
    }
}

/// An accepted App Attest attestation.
package struct AppleAttestation: Sendable {
    /// The certificates, leaf first, without the root.
    package let certificates: [Certificate]
    package let anchor: TrustAnchor
    package let key: P256PublicKey
    /// The app id, as `TEAMID.bundle.id`.
    package let appID: String
    package let environment: AppAttestEnvironment
    package let authenticatorData: AuthenticatorData
}
