internal import Evidence
internal import Lab
internal import Vocabulary

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
    /// Creates the attested properties of a profile's phone.
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
