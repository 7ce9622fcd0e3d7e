internal import Evidence
internal import Lab
internal import Vocabulary

extension AttestationRequest {
    /// A new key with the chain that an Android keystore returns for it.
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
        let level: SecurityLevel =
            self.fault == .softwareLevel ? .software : self.profile.hasStrongBox ? .strongBox : .trustedEnvironment
        return KeyDescription(
            version: 300,
            securityLevel: level,
            challenge: self.challenge.bytes,
            softwareEnforced: self.softwareList(),
            hardwareEnforced: self.hardwareList()
        )
    }

    private func softwareList() -> AuthorizationList {
        let isOther = self.fault == .otherApp
        let isOldApp = self.fault == .oldApp
        let digest = LabApp.androidSigningDigest
        let application = ApplicationID(
            packages: [
                ApplicationID.Package(
                    name: isOther ? "org.example.other" : self.profile.appID,
                    version: isOldApp ? 1 : self.profile.appVersionCode
                )
            ],
            signatureDigests: [self.fault == .otherSigner ? digest.reversed() : digest]
        )
        return AuthorizationList([
            .init(701, .integer(Int128(self.time.milliseconds))),
            .init(709, .application(application)),
        ])
    }

    private func hardwareList() -> AuthorizationList {
        var list = AuthorizationList([
            .init(1, .integers([self.fault == .wrongPurpose ? 3 : 2])),
            .init(2, .integer(3)),
            .init(3, .integer(256)),
            .init(5, .integers([self.fault == .wrongDigest ? 6 : 4])),
            .init(10, .integer(1)),
            .init(503, .present),
        ])
        if self.fault == .allApplications { list[.allApplications] = .present }
        list[.origin] = .integer(self.fault == .importedKey ? 2 : 0)
        if self.fault != .noRootOfTrust { list[.rootOfTrust] = .rootOfTrust(self.rootOfTrust) }
        list[.osVersion] = .integer(Int128(self.profile.osVersionNumber))
        list[.osPatchLevel] = .integer(self.fault == .oldPatchLevel ? 201_901 : Int128(self.profile.osPatchLevel))
        list[.attestationIDBrand] = .text(Array(self.profile.brand.utf8))
        list[.attestationIDModel] = .text(Array(self.profile.model.utf8))
        list[.vendorPatchLevel] = self.day(self.profile.vendorPatchLevel, old: .oldVendorPatchLevel)
        list[.bootPatchLevel] = self.day(self.profile.bootPatchLevel, old: .oldBootPatchLevel)
        return list
    }

    private func day(_ level: Int?, old: Fault) -> AuthorizationList.Value? {
        if self.fault == old { return .integer(20_190_101) }
        return level.map { .integer(Int128($0)) }
    }

    private var rootOfTrust: RootOfTrust {
        let isUnlocked = self.fault == .unlockedBootloader
        return RootOfTrust(
            verifiedBootKey: isUnlocked ? Array(repeating: 0, count: 32) : sha256([1]).bytes,
            isDeviceLocked: !isUnlocked,
            verifiedBootState: isUnlocked ? .unverified : self.fault == .selfSignedSystem ? .selfSigned : .verified,
            verifiedBootHash: sha256([2]).bytes
        )
    }

    /// The attack on verifiers that take the first extension they find: a genuine key signs a certificate that says
    /// whatever its owner likes.
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

extension DeviceProfile {
    /// The version as Android writes it: two digits each for minor and sub-minor, 160000 for "16".
    fileprivate var osVersionNumber: Int {
        let parts = self.osVersion.split(separator: ".").map { Int($0) ?? 0 } + [0, 0, 0]
        return parts[0] * 10_000 + parts[1] * 100 + parts[2]
    }
}
