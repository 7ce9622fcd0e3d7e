package import Evidence

/// A server's requirements for devices that register.
package struct AttestationPolicy: Hashable, Sendable {
    package var android: AndroidPolicy
    package var apple: ApplePolicy

    package init(android: AndroidPolicy, apple: ApplePolicy) {
        self.android = android
        self.apple = apple
    }
}

/// An Android app that may register.
package struct AndroidApp: Hashable, Sendable {
    package var package: String
    /// SHA-256 of the certificates that may have signed the app; an empty set allows any.
    package var signatureDigests: Set<[UInt8]>
    /// The lowest version code.
    package var minimumVersion: Int64

    package init(package: String, signatureDigests: Set<[UInt8]>, minimumVersion: Int64 = 0) {
        self.package = package
        self.signatureDigests = signatureDigests
        self.minimumVersion = minimumVersion
    }
}

/// The way in which a device got its attestation key.
package enum Provisioning: String, Hashable, Sendable, CaseIterable, Codable {
    /// Installed at the factory: the certificate below the root has an X.520 serial number.
    case factory
    /// Fetched from Google's servers: the certificate below the root is named CN=Droid CA, O=Google LLC.
    case remote
    /// A software attestation, by the names in its chain.
    case software
    case unknown
}

/// The requirements for Android Key Attestation.
package struct AndroidPolicy: Hashable, Sendable {
    /// The certificates that must be valid at the time of verification.
    package enum Validity: String, Hashable, Sendable, CaseIterable {
        /// As in Google's own verifier: the leaf is not checked, and factory chains may contain expired certificates.
        case google
        /// All certificates but the root.
        case strict
    }

    /// The requirements for the key.
    package enum KeyRules: Hashable, Sendable {
        /// Any key: the caller has other uses for it.
        case any
        /// A key that signs SHA-256 digests for one app.
        case signing
    }

    /// The apps that may register; nil skips the check.
    package var apps: [AndroidApp]?
    package var validity: Validity
    package var minimumAttestationLevel: SecurityLevel
    package var minimumKeyMintLevel: SecurityLevel
    package var requiresLockedDevice: Bool
    /// The accepted boot states; an empty set allows any.
    package var bootStates: Set<VerifiedBootState>
    package var requiresGeneratedKey: Bool
    package var keyRules: KeyRules
    /// Key kinds by name, as in `EC-P-256`; nil allows any.
    package var allowedKeys: Set<String>?
    /// True if a key that the keystore attested may attest others (ATTEST_KEY).
    package var allowsAttestKeys: Bool
    /// The accepted kinds of provisioning; nil allows any.
    package var provisioning: Set<Provisioning>?
    /// Year and month, as in 202401; nil skips the check.
    package var minimumOSPatchLevel: Int?
    /// Year, month and day, as in 20240105; nil skips the check.
    package var minimumVendorPatchLevel: Int?
    /// Year, month and day, as in 20240105; nil skips the check.
    package var minimumBootPatchLevel: Int?
    package var statusList: StatusListPolicy

    /// The policy for registrations (attestation.md) with these apps.
    package init(apps: [AndroidApp]?) {
        self.apps = apps
        self.validity = .google
        self.minimumAttestationLevel = .trustedEnvironment
        self.minimumKeyMintLevel = .trustedEnvironment
        self.requiresLockedDevice = true
        self.bootStates = [.verified]
        self.requiresGeneratedKey = true
        self.keyRules = .signing
        self.allowedKeys = [SubjectPublicKey.Kind.p256.description]
        self.allowsAttestKeys = false
        self.provisioning = nil
        self.minimumOSPatchLevel = nil
        self.minimumVendorPatchLevel = nil
        self.minimumBootPatchLevel = nil
        self.statusList = StatusListPolicy()
    }
}

/// The requirements for App Attest.
package struct ApplePolicy: Hashable, Sendable {
    /// The apps that may register, each `TEAMID.bundle.id`.
    package var appIDs: [String]
    package var environments: Set<AppAttestEnvironment>

    package init(appIDs: [String], environments: Set<AppAttestEnvironment> = [.production]) {
        self.appIDs = appIDs
        self.environments = environments
    }
}
