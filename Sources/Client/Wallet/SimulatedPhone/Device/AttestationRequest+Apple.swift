internal import Evidence
internal import Lab
internal import Vocabulary

extension AttestationRequest {
    /// Creates a key, and returns it with its id and the attestation object that App Attest would return for it.
    func appAttestKey() -> (key: HardwareKey, object: [UInt8], keyID: [UInt8]) {
        let key = HardwareKey()
        let isDevelopment = self.profile.usesDevelopmentService != (self.fault == .wrongEnvironment)
        let attested = AppAttestKey(
            key.key,
            appID: self.fault == .otherApp ? "OTHERTEAM1.org.example" : self.profile.appID,
            environment: isDevelopment ? .development : .production
        )
        var object = attested.attestation(
            saying: self.damaged(attested.attestedData),
            challenge: self.challenge,
            by: self.authority,
            issuer: self.issuer,
            at: self.time
        )
        switch self.fault {
        case .missingCertificate: object.certificates[1] = object.certificates[0]
        case .longChain: object.certificates += Array(repeating: object.certificates[1], count: 9)
        case .otherFormat: object.format = "packed"
        default: break
        }
        object.certificates = self.damaged(object.certificates)
        var encoded = object.encoded
        if self.fault == .truncated { encoded.removeLast() }
        let keyID = attested.id.bytes
        return (key, encoded, self.fault == .wrongKeyID ? sha256(keyID).bytes : keyID)
    }

    private var issuer: AppAttestIssuer {
        switch self.fault {
        case .expired: .expired
        case .notYetValid: .notYetValid
        case .otherRoot: .unknownRoot
        case .unmarkedIssuer: .unmarked
        default: .standard
        }
    }

    private func damaged(_ data: AuthenticatorData) -> AuthenticatorData {
        var data = data
        data.extensions = AppAttestExtensions(self.profile)
        switch self.fault {
        case .noCredentialFlag: data.flags = 0
        case .counterNotZero: data.counter = 1
        case .wrongCredentialID:
            let id = data.credential?.id ?? []
            data.credential?.id = sha256(id).bytes
        case .wrongCredentialKey:
            data.credential?.key = AuthenticatorData.Credential.coseKey(HardwareKey().key.publicKey)
        default: break
        }
        return data
    }
}

extension HardwareKey {
    /// Creates an App Attest assertion with the current counter.
    func assertion(for clientDataHash: SHA256Digest, by profile: DeviceProfile) -> [UInt8] {
        AppAttestKey(self.key, appID: profile.appID)
            .assertion(for: clientDataHash, counter: self.counter, extensions: AppAttestExtensions(profile))
            .encoded
    }
}

extension AppAttestExtensions {
    /// Creates the extension data that the profile's iPhone writes.
    ///
    /// Returns nil before iOS 27.
    fileprivate init?(_ profile: DeviceProfile) {
        guard let major = profile.osVersion.split(separator: ".").first.flatMap({ Int($0) }), major >= 27 else {
            return nil
        }
        self.init(
            validationCategory: profile.usesDevelopmentService ? .development : .appStore,
            bundleVersion: profile.appVersion
        )
    }
}
