internal import Evidence

/// The values of KeyMint's `KeyPurpose` that the verifier uses.
enum KeyPurpose {
    static let sign = 2
    static let attestKey = 7
}

/// The values of KeyMint's `Digest` that the verifier uses.
private enum KeyDigest {
    static let sha256 = 4
}

/// The values of KeyMint's `KeyOrigin` that the verifier uses.
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

    /// Checks the description of an intermediate attestation key, whose purpose the caller has checked.
    ///
    /// The hardware must have generated the key, whatever the policy says, because a party that imported a key knows it
    /// and can sign any statement with it.
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

    /// Checks the boot state, reading only the hardware-enforced list, because a compromised system can write any claim
    /// into the other list.
    private func checkBoot(_ list: AuthorizationList) throws(AttestationRefusal) {
        guard self.policy.requiresLockedDevice || !self.policy.bootStates.isEmpty else { return }
        guard let root = list.rootOfTrust else { throw .rootOfTrustMissing }
        if self.policy.requiresLockedDevice, !root.isDeviceLocked { throw .deviceUnlocked }
        if !self.policy.bootStates.isEmpty, !self.policy.bootStates.contains(root.verifiedBootState) {
            throw .verifiedBootState
        }
    }

    private func checkKey(_ description: KeyDescription) throws(AttestationRefusal) {
        let hardware = description.hardwareEnforced
        if self.policy.requiresGeneratedKey {
            // The properties of software keys are in the software-enforced list.
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

    /// Checks the patch levels for which the policy sets a minimum, treating a missing level as too old.
    private func checkPatchLevels(_ list: AuthorizationList) throws(AttestationRefusal) {
        if let minimum = self.policy.minimumOSPatchLevel, (list.integer(.osPatchLevel) ?? 0) < minimum {
            throw .patchLevelTooOld
        }
        if let minimum = self.policy.minimumVendorPatchLevel, (list.integer(.vendorPatchLevel) ?? 0) < minimum {
            throw .vendorPatchLevelTooOld
        }
        if let minimum = self.policy.minimumBootPatchLevel, (list.integer(.bootPatchLevel) ?? 0) < minimum {
            throw .bootPatchLevelTooOld
        }
    }

    /// Requires a configured package and one of the digests configured *for it*; a digest of another app does not
    /// count.
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
    /// Returns whether this level is at least `minimum`; an unknown level is below all others.
    func isAtLeast(_ minimum: SecurityLevel) -> Bool {
        switch self {
        case .software, .trustedEnvironment, .strongBox: self.number >= minimum.number
        case .unknown: false
        }
    }
}
