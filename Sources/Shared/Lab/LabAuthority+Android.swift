package import Evidence
package import Vocabulary

/// Determines the certificate chain for a simulated Android device's attestation key.
package enum AndroidBatch: Hashable, Sendable {
    /// The chain is installed at the factory: root, intermediate, batch key.
    case factory
    /// The chain is fetched from the vendor's servers and valid for a month.
    case remote
    /// Like ``remote``, but the chain expired an hour before the attestation.
    case expired
    /// Like ``remote``, but the chain becomes valid a day after the attestation.
    case notYetValid
    /// Like ``factory``, but the lab's status list revokes a serial number in the chain.
    case revoked
    /// Like ``factory``, but the lab's status list suspends a serial number in the chain.
    case suspended
    /// Like ``factory``, but the root is not trusted by any server.
    case unknownRoot
    /// Like ``factory``, but with this many additional intermediate authorities.
    case long(Int)

    static let revokedSerial: [UInt8] = [0x7A, 0xBA, 0xD0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    static let suspendedSerial: [UInt8] = [0x7A, 0xBA, 0xD0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]
}

extension LabAuthority {
    /// Returns the chain for a key created by a keystore, from leaf to root.
    package func androidChain(
        for key: P256PublicKey,
        description: KeyDescription,
        batch: AndroidBatch = .factory,
        at time: Timestamp
    ) -> [[UInt8]] {
        let (issuer, above) = self.androidIssuer(batch, at: time)
        let leaf = CertificateTemplate(
            serialNumber: [1],
            subject: DistinguishedName(commonName: "Android Keystore Key"),
            validity: LabDates.androidLeaf,
            publicKey: key,
            extensions: [.signsData, .attestation(description)]
        )
        return [issuer.issue(leaf), issuer.certificate] + above
    }

    /// Returns the authority that signs leaves, and the certificates above it.
    private func androidIssuer(_ batch: AndroidBatch, at time: Timestamp) -> (LabIssuer, [[UInt8]]) {
        let root = self.androidRoot.certificate
        let factory = [self.androidIntermediate.certificate, root]
        switch batch {
        case .factory: return (self.androidBatch, factory)
        case .remote: return self.remoteIssuer(validity: LabDates.days(30, around: time))
        case .expired: return self.remoteIssuer(validity: LabDates.past(before: time))
        case .notYetValid: return self.remoteIssuer(validity: LabDates.future(after: time))
        case .revoked:
            let serial = AndroidBatch.revokedSerial
            return (self.androidIntermediate.authority(Self.batchName, serialNumber: serial), factory)
        case .suspended:
            let serial = AndroidBatch.suspendedSerial
            return (self.androidIntermediate.authority(Self.batchName, serialNumber: serial), factory)
        case .unknownRoot:
            let stranger = LabAuthority()
            return stranger.androidIssuer(.factory, at: time)
        case .long(let count):
            var issuer = self.androidBatch
            var above = factory
            for number in 0..<count {
                above.insert(issuer.certificate, at: 0)
                issuer = issuer.authority(DistinguishedName(commonName: "Lab Batch \(number)", title: "TEE"))
            }
            return (issuer, above)
        }
    }

    /// Returns an issuer whose chain is the root, "Droid CA1", and a device key.
    ///
    /// These names identify remote provisioning.
    private func remoteIssuer(validity: ClosedRange<Timestamp>) -> (LabIssuer, [[UInt8]]) {
        let droid = self.androidRoot.authority(DistinguishedName(commonName: "Droid CA1", organization: "Google LLC"))
        let device = droid.authority(
            DistinguishedName(commonName: LabSerial.random().hex, organization: "TEE"),
            validity: validity
        )
        return (device, [droid.certificate, self.androidRoot.certificate])
    }
}
