package import Evidence
package import Vocabulary

/// The chain of a simulated Android device's attestation key.
package enum AndroidBatch: Hashable, Sendable {
    /// Installed at the factory: root, intermediate, batch key.
    case factory
    /// Fetched from the vendor's servers for a month.
    case remote
    /// As ``remote``, but expired an hour before the attestation.
    case expired
    /// As ``remote``, but valid only from a day after the attestation.
    case notYetValid
    /// As ``factory``, with a serial number that the lab's status list revokes.
    case revoked
    /// As ``factory``, with a serial number that the lab's status list suspends.
    case suspended
    /// As ``factory``, under a root that no server trusts.
    case unknownRoot
    /// As ``factory``, with this many more intermediate authorities.
    case long(Int)

    static let revokedSerial: [UInt8] = [0x7A, 0xBA, 0xD0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    static let suspendedSerial: [UInt8] = [0x7A, 0xBA, 0xD0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]
}

extension LabAuthority {
    /// The chain that a keystore returns for a key it created: leaf first, root last.
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

    /// The authority that signs leaves, and the certificates above its own.
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

    /// Root, "Droid CA1", a key for one device: these names identify remote provisioning.
    private func remoteIssuer(validity: ClosedRange<Timestamp>) -> (LabIssuer, [[UInt8]]) {
        let droid = self.androidRoot.authority(DistinguishedName(commonName: "Droid CA1", organization: "Google LLC"))
        let device = droid.authority(
            DistinguishedName(commonName: LabSerial.random().hex, organization: "TEE"),
            validity: validity
        )
        return (device, [droid.certificate, self.androidRoot.certificate])
    }
}
