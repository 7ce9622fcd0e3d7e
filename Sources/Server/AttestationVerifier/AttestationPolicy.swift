public import Evidence

/// What a server demands of the devices that register.
public struct AttestationPolicy: Hashable, Sendable {
    public var android: AndroidPolicy
    public var apple: ApplePolicy

    public init(android: AndroidPolicy, apple: ApplePolicy) {
        self.android = android
        self.apple = apple
    }
}

/// An Android app that may register.
public struct AndroidApp: Hashable, Sendable {
    public var package: String
    /// SHA-256 of the certificates that may have signed it; empty: any.
    public var signatureDigests: Set<[UInt8]>
    /// The lowest version code.
    public var minimumVersion: Int64

    public init(package: String, signatureDigests: Set<[UInt8]>, minimumVersion: Int64 = 0) {
        self.package = package
        self.signatureDigests = signatureDigests
        self.minimumVersion = minimumVersion
    }
}

/// How a device came by its attestation key.
public enum Provisioning: String, Hashable, Sendable, CaseIterable, Codable {
    /// Put in at the factory: the certificate below the root has an X.520 serial number.
    case factory
    /// Fetched from Google's servers: it is named CN=Droid CA, O=Google LLC.
    case remote
    /// A software attestation, by the names in its chain.
    case software
    case unknown
}

/// What is demanded of Android Key Attestation.
public struct AndroidPolicy: Hashable, Sendable {
    /// Which certificates have to be valid at the time of verification.
    public enum Validity: String, Hashable, Sendable, CaseIterable {
        /// As Google's own verifier: the leaf is not looked at, and an expired one does no harm in factory chains.
        case google
        /// All but the root.
        case strict
    }

    /// What the key itself must be.
    public enum KeyRules: Hashable, Sendable {
        /// Anything: the caller has other uses for the key.
        case any
        /// A key that signs SHA-256 digests for one app.
        case signing
    }

    /// The apps that may register; nil: the app is not looked at.
    public var apps: [AndroidApp]?
    public var validity: Validity
    public var minimumAttestationLevel: SecurityLevel
    public var minimumKeyMintLevel: SecurityLevel
    public var requiresLockedDevice: Bool
    /// Empty: any.
    public var bootStates: Set<VerifiedBootState>
    public var requiresGeneratedKey: Bool
    public var keyRules: KeyRules
    /// Key kinds by name, as in `EC-P-256`; nil: any.
    public var allowedKeys: Set<String>?
    /// Whether a key that the keystore attested may attest others (ATTEST_KEY).
    public var allowsAttestKeys: Bool
    /// Nil: any.
    public var provisioning: Set<Provisioning>?
    /// Year and month, as in 202401; nil: not looked at.
    public var minimumOSPatchLevel: Int?
    /// Year, month and day, as in 20240105; nil: not looked at.
    public var minimumVendorPatchLevel: Int?
    /// Year, month and day, as in 20240105; nil: not looked at.
    public var minimumBootPatchLevel: Int?
    public var statusList: StatusListPolicy

    /// Registration's policy (attestation.md) for these apps.
    public init(apps: [AndroidApp]?) {
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

/// What is demanded of App Attest.
public struct ApplePolicy: Hashable, Sendable {
    /// The apps that may register, each `TEAMID.bundle.id`.
    public var appIDs: [String]
    public var environments: Set<AppAttestEnvironment>

    public init(appIDs: [String], environments: Set<AppAttestEnvironment> = [.production]) {
        self.appIDs = appIDs
        self.environments = environments
    }
}
