package import Evidence
package import Vocabulary

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
