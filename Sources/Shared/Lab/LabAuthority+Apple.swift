internal import Evidence
package import Vocabulary

/// Determines the certificate chain for a simulated iOS device's attestation.
package enum AppAttestIssuer: Hashable, Sendable {
    /// The lab's App Attest authority.
    case standard
    /// The leaf expired an hour before the attestation.
    case expired
    /// The leaf becomes valid a day after the attestation.
    case notYetValid
    /// An authority whose root is not trusted by any server.
    case unknownRoot
    /// An authority that is not marked as a CA.
    case unmarked
}

extension LabAuthority {
    /// Returns the chain for a key as Apple's service would, which consists of the leaf and the authority without the
    /// root.
    package func appAttestChain(
        for key: P256PublicKey,
        nonce: SHA256Digest,
        issuer: AppAttestIssuer = .standard,
        at time: Timestamp
    ) -> [[UInt8]] {
        let authority = self.appAttestAuthority(issuer)
        let leaf = CertificateTemplate(
            serialNumber: LabSerial.random(),
            subject: DistinguishedName(
                commonName: sha256(key.bytes).description,
                organization: LabIssuer.organization
            ),
            validity: Self.appAttestValidity(issuer, at: time),
            publicKey: key,
            extensions: [.signsData, .nonce(nonce)]
        )
        return [authority.issue(leaf), authority.certificate]
    }

    private func appAttestAuthority(_ issuer: AppAttestIssuer) -> LabIssuer {
        switch issuer {
        case .standard, .expired, .notYetValid: self.appleAuthority
        case .unknownRoot: LabAuthority().appleAuthority
        case .unmarked: self.appleRoot.authority(Self.appleAuthorityName, marked: false)
        }
    }

    private static func appAttestValidity(_ issuer: AppAttestIssuer, at time: Timestamp) -> ClosedRange<Timestamp> {
        switch issuer {
        case .standard, .unknownRoot, .unmarked: LabDates.days(90, around: time)
        case .expired: LabDates.past(before: time)
        case .notYetValid: LabDates.future(after: time)
        }
    }
}
