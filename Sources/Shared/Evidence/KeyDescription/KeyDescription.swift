/// An Android keystore's description of a key it has created (`KeyDescription` in the AOSP schema).
package struct KeyDescription: Hashable, Sendable {
    /// The version of the schema (1 to 500 so far).
    package var attestationVersion: Int
    package var attestationSecurityLevel: SecurityLevel
    package var keyMintVersion: Int
    package var keyMintSecurityLevel: SecurityLevel
    package var challenge: [UInt8]
    package var uniqueID: [UInt8]
    /// The properties enforced by the operating system.
    ///
    /// They only prove something if the system was verified when it booted.
    package var softwareEnforced: AuthorizationList
    /// The properties enforced by the secure hardware.
    package var hardwareEnforced: AuthorizationList

    package init(
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

    /// The application that the key belongs to.
    ///
    /// It is reported by the operating system or, on some devices, by the hardware.
    package var application: ApplicationID? {
        self.softwareEnforced.application ?? self.hardwareEnforced.application
    }
}

/// The place where a key is stored or an attestation was signed.
package enum SecurityLevel: Hashable, Sendable {
    case software
    case trustedEnvironment
    case strongBox
    /// A level from a later schema, which is never equal to one of the above.
    case unknown(Int)

    /// The number used in the schema.
    package var number: Int {
        switch self {
        case .software: 0
        case .trustedEnvironment: 1
        case .strongBox: 2
        case .unknown(let number): number
        }
    }

    package init(number: Int) {
        switch number {
        case 0: self = .software
        case 1: self = .trustedEnvironment
        case 2: self = .strongBox
        default: self = .unknown(number)
        }
    }
}

/// The device's boot state and the lock state of its bootloader.
package struct RootOfTrust: Hashable, Sendable {
    package var verifiedBootKey: [UInt8]
    package var isDeviceLocked: Bool
    package var verifiedBootState: VerifiedBootState
    /// Nil in schemas before version 3.
    package var verifiedBootHash: [UInt8]?
    /// Whether true was encoded as a BOOLEAN in a form that is valid in BER but not in DER, as some devices do.
    package internal(set) var hasLooseBoolean = false

    package init(
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

/// The signer of the running operating system.
package enum VerifiedBootState: Hashable, Sendable {
    /// The device's manufacturer.
    case verified
    /// A key installed by the user.
    case selfSigned
    /// There is no signer.
    case unverified
    /// No signer is known, because the check failed.
    case failed
    /// A state from a later schema, which is never equal to one of the above.
    case unknown(Int)

    /// The number used in the schema.
    package var number: Int {
        switch self {
        case .verified: 0
        case .selfSigned: 1
        case .unverified: 2
        case .failed: 3
        case .unknown(let number): number
        }
    }

    package init(number: Int) {
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
package struct ApplicationID: Hashable, Sendable {
    /// A package and its version code.
    package struct Package: Hashable, Sendable {
        package var name: String
        package var version: Int64

        package init(name: String, version: Int64) {
            self.name = name
            self.version = version
        }
    }

    package var packages: [Package]
    /// The SHA-256 digests of the signing certificates.
    package var signatureDigests: [[UInt8]]

    package init(packages: [Package], signatureDigests: [[UInt8]]) {
        self.packages = packages
        self.signatureDigests = signatureDigests
    }
}
