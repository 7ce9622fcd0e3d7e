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
