package import Evidence
package import Vocabulary

/// The complete verification of an Android key attestation, as a pure function of the evidence and the expectations.
///
/// The order of the checks is part of the contract, because it determines which reason is reported for a device with
/// several defects: form, names, anchor, signatures, validity, status, position of the extension, and finally the
/// contents of the extension. The verifier does not trust any statement in a certificate until it has verified the
/// chain.
package struct AndroidVerifier: Sendable {
    package var policy: AndroidPolicy
    package var anchors: [TrustAnchor]
    package var statusList: StatusList?

    package init(policy: AndroidPolicy, anchors: [TrustAnchor], statusList: StatusList? = nil) {
        self.policy = policy
        self.anchors = anchors
        self.statusList = statusList
    }

    /// Verifies a chain that starts with the leaf.
    ///
    /// - Parameters:
    ///   - publicKey: The SubjectPublicKeyInfo that the leaf must certify, if the caller knows it.
    ///   - verification: Records the signature checks and the checks that passed.
    package func verify(
        chain: [[UInt8]],
        challenge: [UInt8],
        publicKey: [UInt8]? = nil,
        at time: Timestamp,
        verification: inout Verification
    ) throws(AttestationRefusal) -> AndroidAttestation {
        if let apps = self.policy.apps, apps.isEmpty { throw .appNotConfigured }
        let certificates = try CertificateChain.read(chain)
        verification.pass(Check.form)
        guard let leaf = certificates.first, certificates.count >= 2 else { throw .incompleteChain }
        try CertificateChain.checkNames(certificates)
        let anchor = try self.anchor(of: certificates)
        verification.pass(Check.anchor)
        try CertificateChain.checkSignatures(certificates, &verification)
        verification.pass(Check.links)
        let provisioning = Provisioning(certificates)
        try self.checkValidity(certificates, provisioning, at: time)
        verification.pass(Check.validity)
        let isListStale = try self.checkStatus(certificates, at: time)
        verification.pass(Check.status)
        if let allowed = self.policy.provisioning, !allowed.contains(provisioning) { throw .provisioningNotAllowed }
        verification.pass(Check.provisioning)
        let description = try self.description(in: certificates)
        verification.pass(Check.place)
        guard description.challenge == challenge else { throw .challengeMismatch }
        verification.pass(Check.challenge)
        if let publicKey, leaf.publicKey.encoded != publicKey { throw .publicKeyMismatch }
        let app = try self.check(description, of: leaf, &verification)
        return AndroidAttestation(
            certificates: certificates,
            description: description,
            anchor: anchor,
            provisioning: provisioning,
            app: app,
            isStatusListStale: isListStale
        )
    }

    /// Returns the anchor at the end of the chain.
    ///
    /// Its key must not occur anywhere else in the chain. A root signs itself, so a chain with a repeated root still
    /// has valid links. The certificate below the root determines the kind of provisioning, and thus whether other
    /// certificates may have expired. In such a chain, that certificate would be the root itself.
    private func anchor(of certificates: [Certificate]) throws(AttestationRefusal) -> TrustAnchor {
        let root = certificates[certificates.count - 1]
        guard let anchor = self.anchor(with: root.publicKey) else {
            throw root.issuer.matches(root.subject) ? .untrustedRoot : .incompleteChain
        }
        guard certificates.dropLast().allSatisfy({ self.anchor(with: $0.publicKey) == nil }) else {
            throw .issuerMismatch
        }
        return anchor
    }

    private func anchor(with key: SubjectPublicKey) -> TrustAnchor? {
        let hash = sha256(key.encoded)
        return self.anchors.first { $0.keyHash == hash }
    }

    private func checkValidity(
        _ certificates: [Certificate],
        _ provisioning: Provisioning,
        at time: Timestamp
    ) throws(AttestationRefusal) {
        let isGoogle = self.policy.validity == .google
        // The anchor is trusted because of its key, so the dates in its certificate are ignored.
        for certificate in certificates.dropLast().dropFirst(isGoogle ? 1 : 0) {
            guard time >= certificate.notBefore else { throw .certificateNotYetValid }
            guard time <= certificate.notAfter || isGoogle && provisioning == .factory else {
                throw .certificateExpired
            }
        }
    }

    /// Rejects revoked and suspended certificates.
    ///
    /// Also rejects a stale list, unless the policy accepts it.
    ///
    /// - Returns: Whether the list is stale.
    private func checkStatus(_ certificates: [Certificate], at time: Timestamp) throws(AttestationRefusal) -> Bool {
        for certificate in certificates {
            switch self.statusList?.status(of: certificate.serialNumber) {
            case .revoked: throw .revoked
            case .suspended: throw .suspended
            case nil: continue
            }
        }
        let isStale = self.policy.statusList.isStale(self.statusList, at: time)
        if isStale, !self.policy.statusList.acceptsStale { throw .statusListStale }
        return isStale
    }

    /// Returns the description in the leaf after checking that no other certificate can pass for the leaf.
    ///
    /// The holder of an attested signing key can sign a certificate with any description. An issuer that was itself
    /// attested is therefore rejected, unless the policy allows it and ATTEST_KEY is the only purpose of its key. Such
    /// a key must also meet the requirements for the leaf: the same app, the required level and the required boot
    /// state. It must also have been generated by the hardware, because the leaf's description is only as trustworthy
    /// as the key that signs it.
    private func description(in certificates: [Certificate]) throws(AttestationRefusal) -> KeyDescription {
        let values = certificates.map { $0.values(of: .keyDescription) }
        guard values.allSatisfy({ $0.count <= 1 }) else { throw .duplicateExtension }
        let attested = values.indices.filter { !values[$0].isEmpty }
        guard let first = attested.first else { throw .missingExtension }
        guard first == 0 else { throw .unexpectedExtension }
        for (position, index) in attested.enumerated().dropFirst() {
            guard self.policy.allowsAttestKeys, position == index else { throw .unexpectedExtension }
            let issuer = try Self.decode(values[index][0])
            guard issuer.hardwareEnforced.integers(.purpose) == [KeyPurpose.attestKey] else {
                throw .unexpectedExtension
            }
            try self.checkAttestKey(issuer)
        }
        return try Self.decode(values[0][0])
    }

    private static func decode(_ bytes: [UInt8]) throws(AttestationRefusal) -> KeyDescription {
        guard let description = try? KeyDescription(decoding: bytes) else { throw .malformedKeyDescription }
        return description
    }
}

/// An accepted Android key attestation.
package struct AndroidAttestation: Sendable {
    /// The certificates, leaf first.
    package let certificates: [Certificate]
    package let description: KeyDescription
    /// The root that the chain ends at.
    package let anchor: TrustAnchor
    package let provisioning: Provisioning
    /// The package that identified the app, or nil if the policy does not check apps.
    package let app: ApplicationID.Package?
    /// Whether the policy accepted a status list that is missing or too old.
    package let isStatusListStale: Bool
}

extension Provisioning {
    /// Derives the provisioning from the names in the certificate below the root, as Google's verifier does.
    package init(_ certificates: [Certificate]) {
        guard certificates.count >= 2 else {
            self = .unknown
            return
        }
        let name = certificates[certificates.count - 2].subject
        let root = certificates[certificates.count - 1].subject
        if name.organization == "Google LLC", name.isDroidAuthority {
            self = .remote
        } else if name.serialNumber != nil {
            self = .factory
        } else if (name.attributes + root.attributes).contains(where: { $0.value.contains("Software") }) {
            self = .software
        } else {
            self = .unknown
        }
    }
}

extension DistinguishedName {
    /// Whether the common name is `Droid CA` followed by a number.
    fileprivate var isDroidAuthority: Bool {
        guard let name = self.commonName, name.hasPrefix("Droid CA") else { return false }
        return name.dropFirst("Droid CA".count).first?.isNumber ?? false
    }
}
