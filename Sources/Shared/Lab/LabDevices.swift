package import Evidence
package import Vocabulary

/// The app that is run by simulated devices and accepted by a lab's server.
package enum LabApp {
    package static let androidPackage = "org.example.wallet"
    /// The SHA-256 digest of the certificate that signed the Android package.
    package static let androidSigningDigest: [UInt8] = (0..<32).map { 0xA0 ^ ($0 &* 7) }
    /// The team that publishes the iOS app.
    package static let iOSTeam = "EXAMPLE123"
    /// The iOS app's bundle id.
    package static let iOSBundle = "org.example.wallet"
    /// The iOS app's id, which consists of the team and the bundle id.
    package static let iOSAppID = "\(Self.iOSTeam).\(Self.iOSBundle)"
    package static let version = "1.0.0"
}

/// The properties attested by an Android keystore: those of the phone, and of the app that requests the attestation.
///
/// By default, this is a healthy phone that runs the lab's app.
package struct AndroidPhone: Hashable, Sendable {
    package var package = LabApp.androidPackage
    /// The version code, used to compare versions of the package.
    package var packageVersion: Int64 = 100
    /// The marketing version, such as "16".
    package var osVersion = "16"
    package var brand = "Example"
    package var model = "Example One"
    /// The year and month, such as 202610.
    package var osPatchLevel = 202_610
    /// The year, month and day, such as 20261005, or nil if the phone does not report them.
    package var vendorPatchLevel: Int? = 20_261_005
    /// Like ``vendorPatchLevel``, for the boot image.
    package var bootPatchLevel: Int? = 20_261_005
    package var securityLevel = SecurityLevel.trustedEnvironment

    package init() {}

    /// Returns the keystore's description of a key that it has just created for the app.
    package func keyDescription(challenge: SHA256Digest, at time: Timestamp) -> KeyDescription {
        KeyDescription(
            version: 300,
            securityLevel: self.securityLevel,
            challenge: challenge.bytes,
            softwareEnforced: self.softwareList(at: time),
            hardwareEnforced: self.hardwareList()
        )
    }

    private func softwareList(at time: Timestamp) -> AuthorizationList {
        let application = ApplicationID(
            packages: [ApplicationID.Package(name: self.package, version: self.packageVersion)],
            signatureDigests: [LabApp.androidSigningDigest]
        )
        return AuthorizationList([
            .init(701, .integer(Int128(time.milliseconds))),
            .init(709, .application(application)),
        ])
    }

    private func hardwareList() -> AuthorizationList {
        var list = AuthorizationList([
            .init(1, .integers([2])),
            .init(2, .integer(3)),
            .init(3, .integer(256)),
            .init(5, .integers([4])),
            .init(10, .integer(1)),
            .init(503, .present),
        ])
        list[.origin] = .integer(0)
        list[.rootOfTrust] = .rootOfTrust(Self.verifiedStart)
        list[.osVersion] = .integer(Int128(self.osVersionNumber))
        list[.osPatchLevel] = .integer(Int128(self.osPatchLevel))
        list[.attestationIDBrand] = .text(Array(self.brand.utf8))
        list[.attestationIDModel] = .text(Array(self.model.utf8))
        list[.vendorPatchLevel] = self.vendorPatchLevel.map { .integer(Int128($0)) }
        list[.bootPatchLevel] = self.bootPatchLevel.map { .integer(Int128($0)) }
        return list
    }

    /// The SHA-256 digest of the key that signed the system of a phone with a self-signed one.
    package static let selfSignedBootKey = sha256([3])

    /// A phone with a locked bootloader that runs its manufacturer's system.
    private static let verifiedStart = RootOfTrust(
        verifiedBootKey: sha256([1]).bytes,
        isDeviceLocked: true,
        verifiedBootState: .verified,
        verifiedBootHash: sha256([2]).bytes
    )

    /// The version as encoded by Android, with two digits each for minor and sub-minor.
    ///
    /// For example, "16" is 160000.
    private var osVersionNumber: Int {
        let parts = self.osVersion.split(separator: ".").map { Int($0) ?? 0 } + [0, 0, 0]
        return parts[0] * 10_000 + parts[1] * 100 + parts[2]
    }
}

/// An iPhone app's key, with App Attest attestations and assertions.
package struct AppAttestKey: Sendable {
    package let key: SigningKey
    /// The team and bundle id.
    package let appID: String
    /// Apple's service that attests the key.
    package let environment: AppAttestEnvironment

    package init(_ key: SigningKey, appID: String, environment: AppAttestEnvironment = .production) {
        self.key = key
        self.appID = appID
        self.environment = environment
    }

    /// The key id: the SHA-256 digest of its public half.
    package var id: SHA256Digest { sha256(self.key.publicKey.bytes) }

    /// The authenticator data for attesting this key, before it has signed anything.
    package var attestedData: AuthenticatorData {
        AuthenticatorData(
            rpIDHash: sha256(Array(self.appID.utf8)),
            flags: AuthenticatorData.hasCredential,
            counter: 0,
            credential: AuthenticatorData.Credential(
                aaguid: self.environment.aaguid,
                id: self.id.bytes,
                key: AuthenticatorData.Credential.coseKey(self.key.publicKey)
            ),
            extensions: nil
        )
    }

    /// Returns an attestation for this key that contains `data`.
    ///
    /// - Parameter time: The lab's time, which determines the leaf's validity.
    package func attestation(
        saying data: AuthenticatorData,
        challenge: SHA256Digest,
        by authority: LabAuthority,
        issuer: AppAttestIssuer = .standard,
        at time: Timestamp
    ) -> AppAttestObject {
        let encoded = data.encoded
        let chain = authority.appAttestChain(
            for: self.key.publicKey,
            nonce: AppAttestAssertion.nonce(authenticatorData: encoded, clientDataHash: challenge.bytes),
            issuer: issuer,
            at: time
        )
        return AppAttestObject(certificates: chain, receipt: nil, authenticatorData: encoded)
    }

    /// Returns an assertion by this key with the given counter.
    ///
    /// Apple signs the nonce as a message, so ECDSA hashes it again.
    package func assertion(
        for clientDataHash: SHA256Digest,
        counter: UInt32,
        extensions: AppAttestExtensions? = nil
    ) -> AppAttestAssertion {
        let data = AuthenticatorData(
            rpIDHash: sha256(Array(self.appID.utf8)),
            flags: AuthenticatorData.hasCredential,
            counter: counter,
            credential: nil,
            extensions: extensions
        ).encoded
        let nonce = AppAttestAssertion.nonce(authenticatorData: data, clientDataHash: clientDataHash.bytes)
        return AppAttestAssertion(signature: self.key.derSignature(for: nonce.bytes), authenticatorData: data)
    }
}
