internal import AttestationVerifier
internal import Evidence
internal import Vocabulary

extension Optional {
    func required(_ name: String) throws(ManifestError) -> Wrapped {
        guard let value = self else { throw .missing(name) }
        return value
    }
}

extension ManifestFile.Case {
    var time: Timestamp {
        get throws(ManifestError) {
            try self.inputs.verifyTime.flatMap { Timestamp(iso8601: $0) }.required("verify_time")
        }
    }
}

extension AndroidPolicy {
    init(_ policy: ManifestFile.Policy) throws(ManifestError) {
        let digests = Set((policy.signatureDigestsHex ?? []).compactMap { [UInt8](hex: $0) })
        let packages = policy.packageNames ?? []
        self.init(apps: packages.isEmpty ? nil : packages.map { AndroidApp(package: $0, signatureDigests: digests) })
        self.validity = try Validity(rawValue: policy.validity).required("validity")
        self.minimumAttestationLevel = try SecurityLevel(name: policy.minAttestationSecurityLevel).required("level")
        self.minimumKeyMintLevel = try SecurityLevel(name: policy.minKeymintSecurityLevel).required("level")
        self.requiresLockedDevice = policy.requireDeviceLocked
        self.bootStates = Set((policy.allowedVerifiedBootStates ?? []).compactMap { VerifiedBootState(name: $0) })
        self.bootKeys = nil
        self.requiresGeneratedKey = policy.requireOriginGenerated
        self.keyRules = .any
        self.allowedKeys = policy.allowedKeys.map { Set($0) }
        self.allowsAttestKeys = policy.allowAttestKeys ?? false
        self.minimumOSPatchLevel = try policy.minOsPatchLevel.map { number throws(ManifestError) in
            try PatchLevel(stated: number).required("min_os_patch_level")
        }
    }
}
