internal import Evidence
internal import Lab
internal import Vocabulary

/// The information needed to create a simulated device's evidence.
struct AttestationRequest: Sendable {
    let profile: DeviceProfile
    let challenge: SHA256Digest
    let authority: LabAuthority
    let time: Timestamp

    var fault: Fault? { self.profile.fault }

    /// Applies the faults that exist on both platforms to a chain.
    func damaged(_ chain: [[UInt8]]) -> [[UInt8]] {
        var chain = chain
        switch self.fault {
        case .brokenSignature: chain[0][chain[0].count - 1] ^= 1
        case .loneCertificate: chain = [chain[0]]
        case .largeEvidence: chain[0] += Array(repeating: 0, count: 33_000)
        default: break
        }
        return chain
    }
}

extension AttestationRequest {
    /// Creates a key and the certificate chain that an Android keystore would return for it.
    func androidKey() -> (key: HardwareKey, chain: [[UInt8]]) {
        let key = HardwareKey()
        let description = self.keyDescription()
        var chain = self.authority.androidChain(
            for: key.key.publicKey,
            description: description,
            batch: self.batch,
            at: self.time
        )
        switch self.fault {
        case .forgedExtension: return self.forged(above: chain, signedBy: key)
        case .missingExtension: chain.removeFirst()
        case .missingCertificate: chain.remove(at: 1)
        case .truncated: chain[0].removeLast()
        default: break
        }
        return (key, self.damaged(chain))
    }

    private var batch: AndroidBatch {
        switch self.fault {
        case .expired: .expired
        case .notYetValid: .notYetValid
        case .otherRoot: .unknownRoot
        case .revokedSerial: .revoked
        case .suspendedSerial: .suspended
        case .longChain: .long(8)
        default: self.profile.isRemotelyProvisioned ? .remote : .factory
        }
    }

    private func keyDescription() -> KeyDescription {
        var phone = AndroidPhone(self.profile)
        if self.fault == .softwareLevel { phone.securityLevel = .software }
        var description = phone.keyDescription(challenge: self.challenge, at: self.time)
        self.damageSoftwareList(&description.softwareEnforced)
        self.damageHardwareList(&description.hardwareEnforced)
        return description
    }

    private func damageSoftwareList(_ list: inout AuthorizationList) {
        guard var application = list.application else { return }
        switch self.fault {
        case .otherApp: application.packages[0].name = "org.example.other"
        case .oldApp: application.packages[0].version = 1
        case .otherSigner: application.signatureDigests = [LabApp.androidSigningDigest.reversed()]
        default: return
        }
        list[.attestationApplicationID] = .application(application)
    }

    private func damageHardwareList(_ list: inout AuthorizationList) {
        switch self.fault {
        case .wrongPurpose: list[.purpose] = .integers([3])
        case .wrongDigest: list[.digest] = .integers([6])
        case .allApplications:
            list[.allApplications] = .present
            list.entries.sort { $0.tag < $1.tag }
        case .importedKey: list[.origin] = .integer(2)
        case .noRootOfTrust: list[.rootOfTrust] = nil
        case .unlockedBootloader:
            guard var root = list.rootOfTrust else { return }
            root.verifiedBootKey = Array(repeating: 0, count: 32)
            root.isDeviceLocked = false
            root.verifiedBootState = .unverified
            list[.rootOfTrust] = .rootOfTrust(root)
        case .selfSignedSystem:
            guard var root = list.rootOfTrust else { return }
            root.verifiedBootKey = AndroidPhone.selfSignedBootKey.bytes
            root.verifiedBootState = .selfSigned
            list[.rootOfTrust] = .rootOfTrust(root)
        case .oldPatchLevel: list[.osPatchLevel] = .integer(201_901)
        case .oldVendorPatchLevel: list[.vendorPatchLevel] = .integer(20_190_101)
        case .oldBootPatchLevel: list[.bootPatchLevel] = .integer(20_190_101)
        default: return
        }
    }

    /// Extends a genuine chain with another certificate, signed by the attested key and containing arbitrary claims.
    ///
    /// This fools verifiers that trust the first key description in a chain.
    private func forged(above chain: [[UInt8]], signedBy genuine: HardwareKey) -> (HardwareKey, [[UInt8]]) {
        let own = HardwareKey()
        let leaf = CertificateTemplate(
            serialNumber: [1],
            subject: DistinguishedName(commonName: "Android Keystore Key"),
            validity: Timestamp(milliseconds: 0)...(self.time + .seconds(86_400)),
            publicKey: own.key.publicKey,
            extensions: [.attestation(self.keyDescription())]
        )
        let name = DistinguishedName(commonName: "Android Keystore Key")
        return (own, [leaf.signed(by: genuine.key, issuer: name)] + chain)
    }
}

extension AndroidPhone {
    fileprivate init(_ profile: DeviceProfile) {
        self.init()
        self.package = profile.appID
        self.packageVersion = profile.appVersionCode
        self.osVersion = profile.osVersion
        self.brand = profile.brand
        self.model = profile.model
        self.osPatchLevel = profile.osPatchLevel
        self.vendorPatchLevel = profile.vendorPatchLevel
        self.bootPatchLevel = profile.bootPatchLevel
        self.securityLevel = profile.hasStrongBox ? .strongBox : .trustedEnvironment
    }
}

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
    /// Creates the extension data that the profile's iPhone writes; returns nil before iOS 27.
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
