package import Vocabulary

/// An X.509 certificate, exactly as it was encoded.
///
/// No decision about trust has been made.
///
/// The certificates of genuine phones contain things that strict libraries reject: NULL parameters for ECDSA, empty and
/// odd extensions, issuers without a CA flag, serial numbers of any shape, and ML-DSA keys. This parser only reads
/// them. All decisions are left to the verifier.
package struct Certificate: Hashable, Sendable {
    /// The entire certificate.
    package let encoded: [UInt8]
    /// The part covered by the signature, as it was encoded.
    package let signedPart: [UInt8]
    /// The serial number in lowercase hexadecimal without leading zeros, as used in status lists.
    package let serialNumber: String
    package let signatureAlgorithm: OID
    /// Whether the algorithm is followed by anything, including NULL.
    ///
    /// RFC 5758 §3.2 forbids this for ECDSA, but devices do it.
    package let hasSignatureParameters: Bool
    /// Whether the signed part contains the same algorithm as the signature.
    package let isAlgorithmConsistent: Bool
    /// The contents of the signature's BIT STRING.
    package let signature: [UInt8]
    package let issuer: DistinguishedName
    package let subject: DistinguishedName
    package let notBefore: Timestamp
    package let notAfter: Timestamp
    package let publicKey: SubjectPublicKey
    /// All extensions in order, including duplicates.
    package let extensions: [CertificateExtension]

    /// Decodes exactly one certificate.
    ///
    /// Trailing bytes are not allowed.
    package init(decoding encoded: [UInt8]) throws(DERError) {
        var outer = DERMembers(try DERNode(parsing: encoded).sequence("Certificate"))
        let signedPart = try outer.next("tbsCertificate")
        let outerAlgorithm = try outer.next("signatureAlgorithm")
        var algorithm = DERMembers(try outerAlgorithm.sequence("AlgorithmIdentifier"))
        self.encoded = encoded
        self.signedPart = signedPart.encoded
        self.signatureAlgorithm = try algorithm.next("algorithm").objectIdentifier()
        self.hasSignatureParameters = !algorithm.isEmpty
        self.signature = try outer.next("signature").bitString()
        guard outer.isEmpty else { throw .expected("end of Certificate") }
        var fields = DERMembers(try signedPart.sequence("TBSCertificate"))
        _ = fields.next(tagged: 0)
        self.serialNumber = try Self.serialNumber(try fields.next("serialNumber"))
        self.isAlgorithmConsistent = try fields.next("signature").encoded == outerAlgorithm.encoded
        self.issuer = try DistinguishedName(try fields.next("issuer"))
        var validity = DERMembers(try fields.next("validity").sequence("Validity"))
        self.notBefore = try CertificateTime.read(try validity.next("notBefore"))
        self.notAfter = try CertificateTime.read(try validity.next("notAfter"))
        self.subject = try DistinguishedName(try fields.next("subject"))
        self.publicKey = try SubjectPublicKey(try fields.next("subjectPublicKeyInfo"))
        _ = fields.next(tagged: 1)
        _ = fields.next(tagged: 2)
        self.extensions = try fields.next(tagged: 3).map(Self.extensions(under:)) ?? []
        guard fields.isEmpty else { throw .expected("end of TBSCertificate") }
    }

    /// Returns the values of all extensions with this identifier.
    package func values(of identifier: OID) -> [[UInt8]] {
        self.extensions.filter { $0.identifier == identifier }.map(\.value)
    }

    /// Whether basicConstraints allows this certificate to sign others.
    ///
    /// It is missing in many factory certificates.
    package var isAuthority: Bool {
        guard let value = self.values(of: .basicConstraints).first,
            let first = try? DERNode(parsing: value).sequence().first
        else { return false }
        return (try? first.boolean()) ?? false
    }

    private static func extensions(under tag: DERNode) throws(DERError) -> [CertificateExtension] {
        var extensions: [CertificateExtension] = []
        for node in try tag.onlyChild("Extensions").sequence("Extensions") {
            var members = DERMembers(try node.sequence("Extension"))
            let identifier = try members.next("extnID").objectIdentifier()
            var value = try members.next("extnValue")
            var isCritical = false
            if value.isUniversal(DERTag.boolean) {
                isCritical = try value.boolean()
                value = try members.next("extnValue")
            }
            guard members.isEmpty else { throw .expected("end of Extension") }
            extensions.append(CertificateExtension(identifier, isCritical: isCritical, value: try value.octetString()))
        }
        return extensions
    }

    private static func serialNumber(_ node: DERNode) throws(DERError) -> String {
        guard node.isUniversal(DERTag.integer) else { throw .expected("INTEGER") }
        var bytes = try node.primitive("INTEGER")
        guard let first = bytes.first else { throw .number }
        if first >= 0x80 { bytes = Self.negated(bytes) }
        let digits = String(bytes.hex.drop { $0 == "0" })
        return (first >= 0x80 ? "-" : "") + (digits.isEmpty ? "0" : digits)
    }

    /// Returns the magnitude of a negative number in two's complement.
    private static func negated(_ bytes: [UInt8]) -> [UInt8] {
        var carries = true
        let magnitude = bytes.reversed().map { byte -> UInt8 in
            let (sum, overflow) = (~byte).addingReportingOverflow(carries ? 1 : 0)
            carries = overflow
            return sum
        }
        return magnitude.reversed()
    }
}

package struct CertificateExtension: Hashable, Sendable {
    package let identifier: OID
    package let isCritical: Bool
    /// The contents of the OCTET STRING.
    package let value: [UInt8]

    package init(_ identifier: OID, isCritical: Bool = false, value: [UInt8]) {
        self.identifier = identifier
        self.isCritical = isCritical
        self.value = value
    }
}

/// A name in a certificate, consisting of its attributes in order and its encoding.
package struct DistinguishedName: Hashable, Sendable, CustomStringConvertible {
    /// An attribute, such as a common name.
    package struct Attribute: Hashable, Sendable {
        package let type: OID
        /// The text, in which bytes that are not valid UTF-8 have been replaced.
        package let value: String

        package init(_ type: OID, _ value: String) {
            self.type = type
            self.value = value
        }
    }

    package let encoded: [UInt8]
    package let attributes: [Attribute]

    /// Creates a name that encodes all attributes as UTF8String.
    package init(_ attributes: [Attribute]) {
        self.attributes = attributes
        self.encoded = DERWriter.sequence(
            of: attributes.map { attribute in
                DERWriter.set(of: [
                    DERWriter.sequence(
                        DERWriter.objectIdentifier(attribute.type),
                        DERWriter.utf8String(attribute.value)
                    )
                ])
            }
        )
    }

    /// Creates a name from the usual attributes.
    package init(commonName: String, organization: String? = nil, title: String? = nil, serialNumber: String? = nil) {
        var attributes: [Attribute] = []
        if let serialNumber { attributes.append(Attribute(.nameSerialNumber, serialNumber)) }
        if let title { attributes.append(Attribute(.title, title)) }
        attributes.append(Attribute(.commonName, commonName))
        if let organization { attributes.append(Attribute(.organization, organization)) }
        self.init(attributes)
    }

    init(_ node: DERNode) throws(DERError) {
        var attributes: [Attribute] = []
        for set in try node.sequence("Name") {
            for pair in try set.set("RelativeDistinguishedName") {
                var members = DERMembers(try pair.sequence("AttributeTypeAndValue"))
                let type = try members.next("type").objectIdentifier()
                let value = try members.next("value").primitive("value")
                attributes.append(Attribute(type, String(decoding: value, as: UTF8.self)))
            }
        }
        self.encoded = node.encoded
        self.attributes = attributes
    }

    package var commonName: String? { self.first(.commonName) }
    package var organization: String? { self.first(.organization) }
    /// The serialNumber attribute (X.520), which is used below the root in factory-provisioned chains.
    package var serialNumber: String? { self.first(.nameSerialNumber) }

    /// Returns whether two names match, regardless of string type, letter case and spaces (RFC 5280 §7.1).
    package func matches(_ other: DistinguishedName) -> Bool {
        self.encoded == other.encoded || self.attributes.map(Self.folded) == other.attributes.map(Self.folded)
    }

    package var description: String {
        self.attributes.map { "\(Self.shortName(of: $0.type))=\($0.value)" }.joined(separator: ", ")
    }

    private func first(_ type: OID) -> String? { self.attributes.first { $0.type == type }?.value }

    private static func folded(_ attribute: Attribute) -> Attribute {
        let words = attribute.value.lowercased().split(whereSeparator: \.isWhitespace)
        return Attribute(attribute.type, words.joined(separator: " "))
    }

    private static func shortName(of type: OID) -> String {
        switch type {
        case .commonName: "CN"
        case .organization: "O"
        case .title: "T"
        case .nameSerialNumber: "serialNumber"
        default: type.description
        }
    }
}

/// A certificate's public key, with its encoding.
package struct SubjectPublicKey: Hashable, Sendable {
    /// The algorithm and curve of a key.
    package enum Kind: Hashable, Sendable, CustomStringConvertible {
        case p256, p384, p521
        case rsa(bits: Int)
        /// ML-DSA with parameter set 44, 65 or 87.
        case mlDSA(Int)
        /// Any other algorithm or curve.
        case other(OID)

        package var description: String {
            switch self {
            case .p256: "EC-P-256"
            case .p384: "EC-P-384"
            case .p521: "EC-P-521"
            case .rsa(let bits): "RSA-\(bits)"
            case .mlDSA(let set): "ML-DSA-\(set)"
            case .other(let identifier): identifier.description
            }
        }
    }

    package let kind: Kind
    /// The decoded SubjectPublicKeyInfo, or nil if this key was created from a P-256 key.
    private let decoded: [UInt8]?
    /// The contents of its BIT STRING.
    ///
    /// For elliptic curves, this is the point.
    package let content: [UInt8]

    /// Decodes exactly one SubjectPublicKeyInfo.
    package init(decoding encoded: [UInt8]) throws(DERError) {
        try self.init(try DERNode(parsing: encoded))
    }

    package init(_ key: P256PublicKey) {
        self.kind = .p256
        self.content = key.bytes
        self.decoded = nil
    }

    init(_ node: DERNode) throws(DERError) {
        var members = DERMembers(try node.sequence("SubjectPublicKeyInfo"))
        var algorithm = DERMembers(try members.next("algorithm").sequence("AlgorithmIdentifier"))
        let identifier = try algorithm.next("algorithm").objectIdentifier()
        let content = try members.next("subjectPublicKey").bitString()
        switch identifier {
        case .ecPublicKey: self.kind = Self.curve(try algorithm.next("namedCurve").objectIdentifier())
        case .rsaEncryption: self.kind = .rsa(bits: try Self.modulusBits(content))
        default: self.kind = Self.named(identifier)
        }
        self.content = content
        self.decoded = node.encoded
    }

    /// The entire SubjectPublicKeyInfo.
    ///
    /// For a P-256 key, it is created when it is needed, which verifying a signature does not do.
    package var encoded: [UInt8] {
        self.decoded
            ?? DERWriter.sequence(
                DERWriter.sequence(DERWriter.objectIdentifier(.ecPublicKey), DERWriter.objectIdentifier(.p256)),
                DERWriter.bitString(self.content)
            )
    }

    package static func == (left: Self, right: Self) -> Bool { left.encoded == right.encoded }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.content) }

    /// The point on P-256, or nil for other kinds of keys and for compressed points.
    package var p256: P256PublicKey? {
        guard self.kind == .p256 else { return nil }
        return P256PublicKey(self.content)
    }

    private static func curve(_ identifier: OID) -> Kind {
        switch identifier {
        case .p256: .p256
        case "1.3.132.0.34": .p384
        case "1.3.132.0.35": .p521
        default: .other(identifier)
        }
    }

    private static func named(_ identifier: OID) -> Kind {
        switch identifier.description {
        case OID.nistSignatures + "17": .mlDSA(44)
        case OID.nistSignatures + "18": .mlDSA(65)
        case OID.nistSignatures + "19": .mlDSA(87)
        default: .other(identifier)
        }
    }

    private static func modulusBits(_ content: [UInt8]) throws(DERError) -> Int {
        var members = DERMembers(try DERNode(parsing: content).sequence("RSAPublicKey"))
        let modulus = try members.next("modulus").integerBytes().drop { $0 == 0 }
        guard let first = modulus.first else { throw .number }
        return modulus.count * 8 - first.leadingZeroBitCount
    }
}

extension DistinguishedName {
    /// The organization in the names of all labs' roots.
    ///
    /// This is a safeguard rather than a protection. It keeps an operator from accidentally copying a lab's root, whose
    /// private key is stored in a file, to a production configuration.
    package static let labOrganization = "Remote PIN Lab"
}

extension Certificate {
    /// Whether this certificate was issued by a lab's authority.
    ///
    /// Such roots are rejected in production.
    package var isOfLab: Bool {
        [self.subject, self.issuer].contains { $0.organization == DistinguishedName.labOrganization }
    }
}
