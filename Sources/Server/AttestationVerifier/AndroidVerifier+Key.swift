internal import Evidence

/// Purposes of a key (KeyMint `KeyPurpose`).
enum KeyPurpose {
    static let sign = 2
    static let attestKey = 7
}

/// Digests of a key (KeyMint `Digest`).
private enum KeyDigest {
    static let sha256 = 4
}

/// Origins of a key (KeyMint `KeyOrigin`).
private enum KeyOrigin {
    static let generated = 0
}

extension AndroidVerifier {
    /// Everything that the key description must say; returns the package by which the app was recognized.
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

    /// What an attestation key that stands between must say; its purpose has been looked at.
    ///
    /// That it was made in the hardware is asked for whatever the policy: one that was imported is known to whoever
    /// imported it, who can have it say anything.
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

    /// Only what the hardware states counts: the system could say anything of itself.
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
            // Software keys have their properties in the other list.
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

    /// A level that is not stated is too old where one is demanded.
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

    /// One configured package with one of *its own* digests must be there; a digest of another app does not count.
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
    /// Whether this is the level `minimum` or a higher one; a level that is not known is below all.
    func isAtLeast(_ minimum: SecurityLevel) -> Bool {
        switch self {
        case .software, .trustedEnvironment, .strongBox: self.number >= minimum.number
        case .unknown: false
        }
    }
}
