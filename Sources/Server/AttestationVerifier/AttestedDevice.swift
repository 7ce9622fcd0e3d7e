package import Evidence
internal import FoundationEssentials
package import Vocabulary

/// The attested properties of a device: the key that identifies it, and facts for operators.
package struct AttestedDevice: Sendable {
    package let platform: Platform
    package let deviceKey: P256PublicKey
    /// On Android, the package name.
    ///
    /// On iOS, the `TEAMID.bundle.id` that must be in the device's assertions.
    package let appID: String
    package let appVersion: String?
    /// The App Attest service that attested the key.
    ///
    /// Only on iOS.
    package let environment: AppAttestEnvironment?
    package let securityLevel: String
    /// The verified boot state.
    ///
    /// Only on Android.
    package let bootState: String?
    /// The OS version according to the evidence.
    ///
    /// All texts from the evidence, including this one, are truncated to 100 characters. The signer of a chain can
    /// write anything into them, and operators have to read them.
    package let osVersion: String?
    package let osPatchLevel: Int?
    package let vendorPatchLevel: Int?
    package let bootPatchLevel: Int?
    package let brand: String?
    package let model: String?
    package let provisioning: Provisioning?
    /// The name of the root that the chain ends at.
    package let anchor: String
    /// The serial numbers of the certificates in hexadecimal, leaf first.
    ///
    /// If a wallet's chain is added to the status list later, these numbers are the only way to find the wallet.
    package let serialNumbers: [String]
    /// The time of verification.
    package let time: Timestamp
    /// Whether the status list was missing or too old, which should be logged as a warning.
    package let isStatusListStale: Bool
    /// The extension data of the attestation.
    ///
    /// Only on iOS since version 27.
    package let extensions: AppAttestExtensions?

    /// Truncates a text by Unicode scalars, because a single user-perceived character can have any length.
    private static func cut(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.prefix(100)))
    }

    /// Returns the facts as a JSON object with sorted keys.
    ///
    /// Missing facts are omitted.
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
    /// Collects the facts from an Android attestation.
    ///
    /// Returns nil if a device cannot prove itself with this kind of key.
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
        self.extensions = nil
    }

    init(_ attestation: AppleAttestation, at time: Timestamp) {
        let extensions = attestation.authenticatorData.extensions
        self.platform = .iOS
        self.deviceKey = attestation.key
        self.appID = attestation.appID
        if case .value(let version) = extensions?.bundleVersion {
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
        self.extensions = extensions
    }
}

extension SecurityLevel {
    /// The name of the level in the AOSP schema, or its number if the level is unknown.
    package var name: String {
        switch self {
        case .software: "Software"
        case .trustedEnvironment: "TrustedEnvironment"
        case .strongBox: "StrongBox"
        case .unknown(let number): String(number)
        }
    }

    /// Creates the level with this name; returns nil for any other name.
    package init?(name: String) {
        guard let level = [SecurityLevel.software, .trustedEnvironment, .strongBox].first(where: { $0.name == name })
        else { return nil }
        self = level
    }
}

extension ValidationCategory {
    /// The name of the category in the settings or, if none can name it, its number.
    package var name: String {
        switch self {
        case .testFlight: "testflight"
        case .development: "development"
        case .appStore: "app-store"
        case .enterprise: "enterprise"
        case .platform, .developerID, .other: String(self.number)
        }
    }
}

extension VerifiedBootState {
    /// The name of the state in the AOSP schema, or its number if the state is unknown.
    package var name: String {
        switch self {
        case .verified: "Verified"
        case .selfSigned: "SelfSigned"
        case .unverified: "Unverified"
        case .failed: "Failed"
        case .unknown(let number): String(number)
        }
    }

    /// Creates the state with this name; returns nil for any other name.
    package init?(name: String) {
        guard
            let state = [VerifiedBootState.verified, .selfSigned, .unverified, .failed].first(where: { $0.name == name }
            )
        else { return nil }
        self = state
    }
}
