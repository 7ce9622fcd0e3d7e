/// What an Android keystore says of a key that it made (the AOSP schema `KeyDescription`).
public struct KeyDescription: Hashable, Sendable {
    /// Version of the schema, 1 to 500 so far.
    public var attestationVersion: Int
    public var attestationSecurityLevel: SecurityLevel
    public var keyMintVersion: Int
    public var keyMintSecurityLevel: SecurityLevel
    public var challenge: [UInt8]
    public var uniqueID: [UInt8]
    /// What the operating system vouches for: of worth only where the system was started verified.
    public var softwareEnforced: AuthorizationList
    /// What the secure hardware vouches for.
    public var hardwareEnforced: AuthorizationList

    public init(
        version: Int,
        securityLevel: SecurityLevel,
        challenge: [UInt8],
        softwareEnforced: AuthorizationList,
        hardwareEnforced: AuthorizationList
    ) {
        self.attestationVersion = version
        self.attestationSecurityLevel = securityLevel
        self.keyMintVersion = version
        self.keyMintSecurityLevel = securityLevel
        self.challenge = challenge
        self.uniqueID = []
        self.softwareEnforced = softwareEnforced
        self.hardwareEnforced = hardwareEnforced
    }

    /// Which application the key belongs to; stated by the operating system, on some devices by the hardware.
    public var application: ApplicationID? {
        self.softwareEnforced.application ?? self.hardwareEnforced.application
    }
}

/// Where a key lives, or who made the attestation.
public enum SecurityLevel: Hashable, Sendable {
    case software
    case trustedEnvironment
    case strongBox
    /// A level of a later schema; never taken for one of the above.
    case unknown(Int)

    /// The number in the schema.
    public var number: Int {
        switch self {
        case .software: 0
        case .trustedEnvironment: 1
        case .strongBox: 2
        case .unknown(let number): number
        }
    }

    public init(number: Int) {
        switch number {
        case 0: self = .software
        case 1: self = .trustedEnvironment
        case 2: self = .strongBox
        default: self = .unknown(number)
        }
    }
}

/// How the device was started and whether its bootloader is locked.
public struct RootOfTrust: Hashable, Sendable {
    public var verifiedBootKey: [UInt8]
    public var isDeviceLocked: Bool
    public var verifiedBootState: VerifiedBootState
    /// Nil in the schemas before version 3.
    public var verifiedBootHash: [UInt8]?
    /// Whether true was written as BER allows and DER does not, as some devices do.
    public internal(set) var hasLooseBoolean = false

    public init(
        verifiedBootKey: [UInt8],
        isDeviceLocked: Bool,
        verifiedBootState: VerifiedBootState,
        verifiedBootHash: [UInt8]?
    ) {
        self.verifiedBootKey = verifiedBootKey
        self.isDeviceLocked = isDeviceLocked
        self.verifiedBootState = verifiedBootState
        self.verifiedBootHash = verifiedBootHash
    }
}

/// Who vouches for the operating system that runs.
public enum VerifiedBootState: Hashable, Sendable {
    /// The device's maker.
    case verified
    /// A key that the user installed.
    case selfSigned
    /// Nobody.
    case unverified
    /// Nobody: the check failed.
    case failed
    /// A state of a later schema; never taken for one of the above.
    case unknown(Int)

    /// The number in the schema.
    public var number: Int {
        switch self {
        case .verified: 0
        case .selfSigned: 1
        case .unverified: 2
        case .failed: 3
        case .unknown(let number): number
        }
    }

    public init(number: Int) {
        switch number {
        case 0: self = .verified
        case 1: self = .selfSigned
        case 2: self = .unverified
        case 3: self = .failed
        default: self = .unknown(number)
        }
    }
}

/// The packages that share the key's user id, and the certificates that signed them (AttestationApplicationId).
public struct ApplicationID: Hashable, Sendable {
    /// One package with its version code.
    public struct Package: Hashable, Sendable {
        public var name: String
        public var version: Int64

        public init(name: String, version: Int64) {
            self.name = name
            self.version = version
        }
    }

    public var packages: [Package]
    /// SHA-256 of each signing certificate.
    public var signatureDigests: [[UInt8]]

    public init(packages: [Package], signatureDigests: [[UInt8]]) {
        self.packages = packages
        self.signatureDigests = signatureDigests
    }
}
