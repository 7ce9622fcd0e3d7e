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
    case software, trustedEnvironment, strongBox
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

extension KeyDescription {
    /// Decodes exactly one description with eight members, without duplicate tags or trailing bytes.
    ///
    /// Real devices put tags out of order, encode BOOLEAN true as 0x01, and include unknown tags, so all of this is
    /// allowed. Duplicate tags are rejected, because two parsers might otherwise see two different devices.
    package init(decoding bytes: [UInt8]) throws(DERError) {
        var members = DERMembers(try DERNode(parsing: bytes).sequence("KeyDescription"))
        self.attestationVersion = try members.next("attestationVersion").smallInteger()
        self.attestationSecurityLevel = SecurityLevel(
            number: try members.next("attestationSecurityLevel").smallEnumerated()
        )
        self.keyMintVersion = try members.next("keyMintVersion").smallInteger()
        self.keyMintSecurityLevel = SecurityLevel(number: try members.next("keyMintSecurityLevel").smallEnumerated())
        self.challenge = try members.next("attestationChallenge").octetString()
        self.uniqueID = try members.next("uniqueId").octetString()
        self.softwareEnforced = try AuthorizationList(try members.next("softwareEnforced"))
        self.hardwareEnforced = try AuthorizationList(try members.next("hardwareEnforced"))
        guard members.isEmpty else { throw .expected("end of KeyDescription") }
    }
}

extension AuthorizationList {
    init(_ node: DERNode) throws(DERError) {
        var entries: [Entry] = []
        var tags: Set<UInt> = []
        for child in try node.sequence("AuthorizationList") {
            guard let tag = child.contextTag else { throw .expected("context-specific tag") }
            guard tags.insert(tag).inserted else { throw .expected("each tag once") }
            entries.append(Entry(tag, try Value(try child.onlyChild("value of tag \(tag)"), of: tag)))
        }
        self.entries = entries
    }
}

extension AuthorizationList.Value {
    init(_ node: DERNode, of tag: UInt) throws(DERError) {
        guard let known = AuthorizationTag(rawValue: tag) else {
            self = .unknown(node.encoded)
            return
        }
        switch known.form {
        case .integer: self = .integer(try node.integer())
        case .integers:
            var integers: [Int128] = []
            for member in try node.set() { integers.append(try member.integer()) }
            self = .integers(integers)
        case .present:
            try node.null()
            self = .present
        case .bytes: self = .bytes(try node.octetString())
        case .text: self = .text(try node.octetString())
        case .rootOfTrust: self = .rootOfTrust(try RootOfTrust(node))
        case .application: self = .application(try ApplicationID(decoding: try node.octetString()))
        }
    }
}

extension RootOfTrust {
    init(_ node: DERNode) throws(DERError) {
        var members = DERMembers(try node.sequence("RootOfTrust"))
        self.verifiedBootKey = try members.next("verifiedBootKey").octetString()
        let locked = try members.next("deviceLocked")
        self.isDeviceLocked = try locked.boolean()
        self.hasLooseBoolean = !locked.isStrictBoolean
        self.verifiedBootState = VerifiedBootState(number: try members.next("verifiedBootState").smallEnumerated())
        self.verifiedBootHash = members.isEmpty ? nil : try members.next("verifiedBootHash").octetString()
        guard members.isEmpty else { throw .expected("end of RootOfTrust") }
    }
}

extension ApplicationID {
    /// Decodes the contents of the OCTET STRING under the tag.
    init(decoding bytes: [UInt8]) throws(DERError) {
        var members = DERMembers(try DERNode(parsing: bytes).sequence("AttestationApplicationId"))
        var packages: [Package] = []
        for node in try members.next("packageInfos").set() {
            var fields = DERMembers(try node.sequence("AttestationPackageInfo"))
            let name = try fields.next("packageName").octetString()
            guard let text = String(validating: name, as: UTF8.self) else { throw .expected("UTF-8") }
            guard let version = Int64(exactly: try fields.next("version").integer()) else { throw .number }
            guard fields.isEmpty else { throw .expected("end of AttestationPackageInfo") }
            packages.append(Package(name: text, version: version))
        }
        self.packages = packages
        var digests: [[UInt8]] = []
        for node in try members.next("signatureDigests").set() { digests.append(try node.octetString()) }
        self.signatureDigests = digests
        guard members.isEmpty else { throw .expected("end of AttestationApplicationId") }
    }
}

extension DERNode {
    fileprivate func smallInteger() throws(DERError) -> Int {
        guard let value = Int(exactly: try self.integer()) else { throw .number }
        return value
    }

    fileprivate func smallEnumerated() throws(DERError) -> Int {
        guard let value = Int(exactly: try self.enumerated()) else { throw .number }
        return value
    }
}

extension KeyDescription {
    /// The contents of the certificate extension, with properties in their current order.
    package var encoded: [UInt8] {
        DERWriter.sequence(
            DERWriter.integer(Int128(self.attestationVersion)),
            DERWriter.enumerated(Int128(self.attestationSecurityLevel.number)),
            DERWriter.integer(Int128(self.keyMintVersion)),
            DERWriter.enumerated(Int128(self.keyMintSecurityLevel.number)),
            DERWriter.octetString(self.challenge),
            DERWriter.octetString(self.uniqueID),
            self.softwareEnforced.encoded,
            self.hardwareEnforced.encoded
        )
    }
}

extension AuthorizationList {
    var encoded: [UInt8] {
        DERWriter.sequence(of: self.entries.map { DERWriter.tagged($0.tag, $0.value.encoded) })
    }
}

extension AuthorizationList.Value {
    var encoded: [UInt8] {
        switch self {
        case .integer(let value): DERWriter.integer(value)
        case .integers(let values): DERWriter.set(of: values.map { DERWriter.integer($0) })
        case .present: DERWriter.null
        case .bytes(let bytes), .text(let bytes): DERWriter.octetString(bytes)
        case .rootOfTrust(let value): value.encoded
        case .application(let value): DERWriter.octetString(value.encoded)
        case .unknown(let encoded): encoded
        }
    }
}

extension RootOfTrust {
    var encoded: [UInt8] {
        DERWriter.sequence(
            DERWriter.octetString(self.verifiedBootKey),
            DERWriter.boolean(self.isDeviceLocked),
            DERWriter.enumerated(Int128(self.verifiedBootState.number)),
            self.verifiedBootHash.map(DERWriter.octetString) ?? []
        )
    }
}

extension ApplicationID {
    var encoded: [UInt8] {
        DERWriter.sequence(
            DERWriter.set(
                of: self.packages.map { package in
                    DERWriter.sequence(
                        DERWriter.octetString(Array(package.name.utf8)),
                        DERWriter.integer(Int128(package.version))
                    )
                }
            ),
            DERWriter.set(of: self.signatureDigests.map(DERWriter.octetString))
        )
    }
}
