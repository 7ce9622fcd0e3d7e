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

/// An extension in a certificate.
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
