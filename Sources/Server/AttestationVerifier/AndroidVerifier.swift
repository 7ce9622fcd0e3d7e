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

/// The `KeyPurpose` values used by the verifier (KeyMint).
enum KeyPurpose {
    static let sign = 2
    static let attestKey = 7
}

/// The `Digest` values used by the verifier (KeyMint).
private enum KeyDigest {
    static let sha256 = 4
}

/// The `KeyOrigin` values used by the verifier (KeyMint).
private enum KeyOrigin {
    static let generated = 0
}

extension AndroidVerifier {
    /// Checks the key description against the policy and returns the package that identified the app.
    func check(
        _ description: KeyDescription,
        of leaf: Certificate,
        _ verification: inout Verification
    ) throws(AttestationRefusal) -> ApplicationID.Package? {
        if let allowed = self.policy.allowedKeys, !allowed.contains(leaf.publicKey.kind.description) {
            throw .keyTypeNotAllowed
        }
        try self.checkLevel(description)
        verification.pass(Check.level)
        try self.checkBoot(description.hardwareEnforced)
        verification.pass(Check.boot)
        try self.checkKey(description)
        verification.pass(Check.key)
        try self.checkPatchLevels(description.hardwareEnforced)
        verification.pass(Check.patches)
        let app = try self.checkApp(description.application)
        verification.pass(Check.app)
        return app
    }

    /// Checks the description of an intermediate attestation key.
    ///
    /// The caller has checked its purpose. Regardless of the policy, the key must have been generated by the hardware:
    /// anyone who imported a key knows it and can sign any statement with it.
    func checkAttestKey(_ description: KeyDescription) throws(AttestationRefusal) {
        try self.checkLevel(description)
        try self.checkBoot(description.hardwareEnforced)
        guard description.hardwareEnforced.integer(.origin) == KeyOrigin.generated else { throw .keyOrigin }
        _ = try self.checkApp(description.application)
    }

    private func checkLevel(_ description: KeyDescription) throws(AttestationRefusal) {
        guard description.attestationSecurityLevel.isAtLeast(self.policy.minimumAttestationLevel),
            description.keyMintSecurityLevel.isAtLeast(self.policy.minimumKeyMintLevel)
        else { throw .securityLevelTooLow }
    }

    /// Checks the boot state, and the key of a self-signed system.
    ///
    /// Reads only the hardware-enforced list, because a compromised system can write any claim into the other one.
    private func checkBoot(_ list: AuthorizationList) throws(AttestationRefusal) {
        guard self.policy.requiresLockedDevice || !self.policy.bootStates.isEmpty else { return }
        guard let root = list.rootOfTrust else { throw .rootOfTrustMissing }
        if self.policy.requiresLockedDevice, !root.isDeviceLocked { throw .deviceUnlocked }
        if !self.policy.bootStates.isEmpty, !self.policy.bootStates.contains(root.verifiedBootState) {
            throw .verifiedBootState
        }
        // Anyone can sign a system with their own key and lock the bootloader with it.
        if root.verifiedBootState == .selfSigned, let keys = self.policy.bootKeys {
            guard let key = SHA256Digest(root.verifiedBootKey), keys.contains(key) else { throw .verifiedBootKey }
        }
    }

    private func checkKey(_ description: KeyDescription) throws(AttestationRefusal) {
        let hardware = description.hardwareEnforced
        if self.policy.requiresGeneratedKey {
            // For software keys, the properties are in the software-enforced list.
            let fallback = self.policy.minimumKeyMintLevel == .software ? description.softwareEnforced : hardware
            guard hardware.integer(.origin) ?? fallback.integer(.origin) == KeyOrigin.generated else {
                throw .keyOrigin
            }
        }
        guard self.policy.keyRules == .signing else { return }
        guard hardware.integers(.purpose).contains(KeyPurpose.sign) else { throw .keyPurpose }
        guard hardware.integers(.digest).contains(KeyDigest.sha256) else { throw .keyDigest }
        guard hardware[.allApplications] == nil, description.softwareEnforced[.allApplications] == nil else {
            throw .allApplications
        }
    }

    /// Checks the patch levels that have a minimum in the policy.
    ///
    /// A level that is missing or not a date counts as too old.
    private func checkPatchLevels(_ list: AuthorizationList) throws(AttestationRefusal) {
        func reaches(_ minimum: PatchLevel?, _ tag: AuthorizationTag) -> Bool {
            guard let minimum else { return true }
            return list.integer(tag).flatMap { PatchLevel(stated: $0) }?.isAtLeast(minimum) ?? false
        }
        guard reaches(self.policy.minimumOSPatchLevel, .osPatchLevel) else { throw .patchLevelTooOld }
        guard reaches(self.policy.minimumVendorPatchLevel, .vendorPatchLevel) else { throw .vendorPatchLevelTooOld }
        guard reaches(self.policy.minimumBootPatchLevel, .bootPatchLevel) else { throw .bootPatchLevelTooOld }
    }

    /// Requires a configured package and one of the digests configured *for it*.
    ///
    /// Digests of other apps do not count.
    private func checkApp(_ application: ApplicationID?) throws(AttestationRefusal) -> ApplicationID.Package? {
        guard let apps = self.policy.apps else { return nil }
        let packages = application?.packages ?? []
        let digests = application?.signatureDigests ?? []
        let candidates = packages.flatMap { package in
            apps.filter { $0.package == package.name }.map { (app: $0, package: package) }
        }
        guard !candidates.isEmpty else { throw .packageMismatch }
        let signed = candidates.filter { candidate in
            candidate.app.signatureDigests.isEmpty || digests.contains(where: candidate.app.signatureDigests.contains)
        }
        guard !signed.isEmpty else { throw .signatureDigestMismatch }
        guard let match = signed.first(where: { $0.package.version >= $0.app.minimumVersion }) else {
            throw .appVersionTooOld
        }
        return match.package
    }
}

extension SecurityLevel {
    /// Returns whether this level is at least `minimum`.
    ///
    /// An unknown level is lower than all others.
    func isAtLeast(_ minimum: SecurityLevel) -> Bool {
        switch self {
        case .software, .trustedEnvironment, .strongBox: self.number >= minimum.number
        case .unknown: false
        }
    }
}
