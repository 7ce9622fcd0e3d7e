package import Vocabulary

/// A certificate's public key, with its encoding.
package struct SubjectPublicKey: Hashable, Sendable {
    /// The algorithm and curve of a key.
    package enum Kind: Hashable, Sendable, CustomStringConvertible {
        case p256
        case p384
        case p521
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

    /// Creates a P-256 key.
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
