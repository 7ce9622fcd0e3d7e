package import Evidence
package import Vocabulary

/// The requirements for devices to register with a server.
package struct AttestationPolicy: Hashable, Sendable {
    package var android: AndroidPolicy
    package var apple: ApplePolicy

    package init(android: AndroidPolicy, apple: ApplePolicy) {
        self.android = android
        self.apple = apple
    }
}

/// An Android app that is allowed to register.
package struct AndroidApp: Hashable, Sendable {
    package var package: String
    /// The SHA-256 digests of the certificates that may have signed the app.
    ///
    /// If empty, any certificate is allowed.
    package var signatureDigests: Set<[UInt8]>
    /// The lowest version code that is allowed to register.
    package var minimumVersion: Int64

    package init(package: String, signatureDigests: Set<[UInt8]>, minimumVersion: Int64 = 0) {
        self.package = package
        self.signatureDigests = signatureDigests
        self.minimumVersion = minimumVersion
    }
}

/// The way a device received its attestation key.
package enum Provisioning: String, Hashable, Sendable, CaseIterable, Codable {
    /// The key was installed at the factory.
    ///
    /// The certificate below the root has an X.520 serial number.
    case factory
    /// The key was fetched from Google's servers.
    ///
    /// The certificate below the root is named CN=Droid CA, O=Google LLC.
    case remote
    /// The attestation was made in software, according to the names in the chain.
    case software
    case unknown
}

/// The requirements for Android Key Attestation.
package struct AndroidPolicy: Hashable, Sendable {
    /// The certificates that must be valid at the time of verification.
    package enum Validity: String, Hashable, Sendable, CaseIterable {
        /// The rule used by Google's own verifier: the leaf is not checked, and factory chains may contain expired
        /// certificates.
        case google
        /// All certificates except the root.
        case strict
    }

    /// The requirements for the key.
    package enum KeyRules: Hashable, Sendable {
        /// Accepts any key, because the caller uses it for something else.
        case any
        /// Requires a key that signs SHA-256 digests for a single app.
        case signing
    }

    /// The apps that are allowed to register, or nil to skip the check.
    package var apps: [AndroidApp]?
    package var validity: Validity
    package var minimumAttestationLevel: SecurityLevel
    package var minimumKeyMintLevel: SecurityLevel
    package var requiresLockedDevice: Bool
    /// The accepted boot states.
    ///
    /// If empty, any state is accepted.
    package var bootStates: Set<VerifiedBootState>
    /// The keys that may have signed a self-signed system, or nil to accept any key.
    ///
    /// Anyone can sign a system with their own key, so the state alone does not tell which system runs.
    package var bootKeys: Set<SHA256Digest>?
    package var requiresGeneratedKey: Bool
    package var keyRules: KeyRules
    /// The accepted kinds of keys by name, for example `EC-P-256`, or nil to accept any kind.
    package var allowedKeys: Set<String>?
    /// Whether a key attested by the keystore may attest other keys (ATTEST_KEY).
    package var allowsAttestKeys: Bool
    /// The accepted kinds of provisioning, or nil to accept any kind.
    package var provisioning: Set<Provisioning>?
    /// The earliest accepted patch level of the system, or nil to skip the check.
    package var minimumOSPatchLevel: PatchLevel?
    /// The earliest accepted patch level of the vendor image, or nil to skip the check.
    package var minimumVendorPatchLevel: PatchLevel?
    /// The earliest accepted patch level of the boot image, or nil to skip the check.
    package var minimumBootPatchLevel: PatchLevel?
    package var statusList: StatusListPolicy

    /// Creates the policy for registrations of these apps (attestation.md).
    package init(apps: [AndroidApp]?) {
        self.apps = apps
        self.validity = .google
        self.minimumAttestationLevel = .trustedEnvironment
        self.minimumKeyMintLevel = .trustedEnvironment
        self.requiresLockedDevice = true
        self.bootStates = [.verified]
        self.bootKeys = []
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

/// An iOS app that is allowed to register.
package struct AppleApp: Hashable, Sendable {
    /// The id of the app, as `TEAMID.bundle.id`.
    package var id: String
    /// The lowest bundle version that is allowed to register, or nil to skip the check.
    package var minimumVersion: BundleVersion?

    package init(id: String, minimumVersion: BundleVersion? = nil) {
        self.id = id
        self.minimumVersion = minimumVersion
    }
}

/// The requirements for App Attest.
package struct ApplePolicy: Hashable, Sendable {
    /// The apps that are allowed to register.
    package var apps: [AppleApp]
    package var environments: Set<AppAttestEnvironment>
    /// The accepted ways in which the app was signed and distributed, or nil to skip the check.
    package var categories: Set<ValidationCategory>?
    /// Whether evidence may lack the category or the bundle version that the policy requires, as before iOS 27.
    package var acceptsMissingExtensions: Bool

    package init(apps: [AppleApp], environments: Set<AppAttestEnvironment> = [.production]) {
        self.apps = apps
        self.environments = environments
        self.categories = nil
        self.acceptsMissingExtensions = false
    }
}
