package import Evidence
internal import FoundationEssentials
package import Vocabulary

/// The attested properties of a device: the key that acts for it, and facts that operators can read.
package struct AttestedDevice: Sendable {
    package let platform: Platform
    package let deviceKey: P256PublicKey
    /// The package name on Android; on iOS, the `TEAMID.bundle.id` that the device's assertions must carry.
    package let appID: String
    package let appVersion: String?
    /// The App Attest service that attested the key; only on iOS.
    package let environment: AppAttestEnvironment?
    package let securityLevel: String
    /// The verified boot state; only on Android.
    package let bootState: String?
    /// The OS version, as the evidence states it.
    ///
    /// This and all other texts from the evidence are truncated to 100 characters, because the signer of a chain can
    /// write anything into them and operators have to read them.
    package let osVersion: String?
    package let osPatchLevel: Int?
    package let vendorPatchLevel: Int?
    package let bootPatchLevel: Int?
    package let brand: String?
    package let model: String?
    package let provisioning: Provisioning?
    /// The name of the root at which the chain ends.
    package let anchor: String
    /// The serial numbers of the certificates in hexadecimal, starting with the leaf's.
    ///
    /// If the chain of a wallet is put on the status list later, the wallet can be found only by these numbers.
    package let serialNumbers: [String]
    /// The time of the verification.
    package let time: Timestamp
    /// Whether the status list was missing or too old, which deserves a warning in the log.
    package let isStatusListStale: Bool

    /// Truncates a text, counting Unicode scalars because a single user-perceived character can have any length.
    private static func cut(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.prefix(100)))
    }

    /// Returns the facts as a JSON object with sorted keys, omitting the ones that are missing.
    package func json() -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(Facts(self)) else {
            preconditionFailure("strings and numbers can always be encoded as JSON")
        }
        return String(decoding: data, as: UTF8.self)
    }

    private struct Facts: Encodable {
        let platform: String
        let app: String
        let app_version: String?
        let environment: String?
        let security_level: String
        let boot_state: String?
        let os_version: String?
        let os_patch_level: Int?
        let vendor_patch_level: Int?
        let boot_patch_level: Int?
        let brand: String?
        let model: String?
        let provisioning: String?
        let root: String
        let serials: String
        let verified_ms: Int64
        let status_list_stale: Bool?

        init(_ device: AttestedDevice) {
            self.platform = device.platform.rawValue
            self.app = device.appID
            self.app_version = device.appVersion
            self.environment = device.environment?.rawValue
            self.security_level = device.securityLevel
            self.boot_state = device.bootState
            self.os_version = device.osVersion
            self.os_patch_level = device.osPatchLevel
            self.vendor_patch_level = device.vendorPatchLevel
            self.boot_patch_level = device.bootPatchLevel
            self.brand = device.brand
            self.model = device.model
            self.provisioning = device.provisioning?.rawValue
            self.root = device.anchor
            self.serials = device.serialNumbers.joined(separator: " ")
            self.verified_ms = device.time.milliseconds
            self.status_list_stale = device.isStatusListStale ? true : nil
        }
    }
}

extension AttestedDevice {
    /// Collects the facts of an Android attestation, or returns nil if a device cannot prove itself with a key of this
    /// kind.
    init?(_ attestation: AndroidAttestation, at time: Timestamp) {
        let description = attestation.description
        let list = description.hardwareEnforced
        guard let key = attestation.certificates.first?.publicKey.p256, let app = attestation.app else { return nil }
        self.platform = .android
        self.deviceKey = key
        self.appID = app.name
        self.appVersion = String(app.version)
        self.environment = nil
        self.securityLevel = description.keyMintSecurityLevel.name
        self.bootState = list.rootOfTrust?.verifiedBootState.name
        self.osVersion = list.integer(.osVersion).map(String.init)
        self.osPatchLevel = list.integer(.osPatchLevel)
        self.vendorPatchLevel = list.integer(.vendorPatchLevel)
        self.bootPatchLevel = list.integer(.bootPatchLevel)
        self.brand = list.text(.attestationIDBrand).map(Self.cut)
        self.model = list.text(.attestationIDModel).map(Self.cut)
        self.provisioning = attestation.provisioning
        self.anchor = attestation.anchor.name
        self.serialNumbers = attestation.certificates.map { Self.cut($0.serialNumber) }
        self.time = time
        self.isStatusListStale = attestation.isStatusListStale
    }

    init(_ attestation: AppleAttestation, at time: Timestamp) {
        let extensions = attestation.authenticatorData.extensions
        self.platform = .iOS
        self.deviceKey = attestation.key
        self.appID = attestation.appID
        if case .text(let version) = extensions?["apple_bundle_version_01"] {
            self.appVersion = Self.cut(version)
        } else {
            self.appVersion = nil
        }
        self.environment = attestation.environment
        self.securityLevel = "SecureEnclave"
        self.bootState = nil
        self.osVersion = attestation.certificates.first.flatMap { AppleCertificateFacts($0).osVersion }.map(Self.cut)
        self.osPatchLevel = nil
        self.vendorPatchLevel = nil
        self.bootPatchLevel = nil
        self.brand = nil
        self.model = nil
        self.provisioning = nil
        self.anchor = attestation.anchor.name
        self.serialNumbers = attestation.certificates.map { Self.cut($0.serialNumber) }
        self.time = time
        self.isStatusListStale = false
    }
}
