package import Vocabulary

/// The result of `DCAppAttestService.attestKey`.
package struct AppAttestObject: Hashable, Sendable {
    /// The name of the format.
    ///
    /// The only known one is `apple-appattest`.
    package var format: String
    /// The leaf and the authority that signed it, without the root.
    package var certificates: [[UInt8]]
    /// The input for Apple's fraud metric; not used for verification.
    package var receipt: [UInt8]?
    /// The encoded ``AuthenticatorData``, as it was signed.
    package var authenticatorData: [UInt8]

    /// The only known format.
    package static let knownFormat = "apple-appattest"

    package init(certificates: [[UInt8]], receipt: [UInt8]?, authenticatorData: [UInt8]) {
        self.format = Self.knownFormat
        self.certificates = certificates
        self.receipt = receipt
        self.authenticatorData = authenticatorData
    }

    /// Decodes exactly one object.
    package init(decoding bytes: [UInt8]) throws(AppAttestObjectError) {
        let item = try CBOR(evidence: bytes)
        guard case .text(let format) = item["fmt"] else { throw .member("fmt") }
        guard format == Self.knownFormat else { throw .unknownFormat }
        guard let statement = item["attStmt"], case .array(let chain) = statement["x5c"] else { throw .member("x5c") }
        guard let data = item["authData"]?.byteString else { throw .member("authData") }
        let certificates = chain.compactMap(\.byteString)
        guard certificates.count == chain.count else { throw .certificates }
        self.format = format
        self.certificates = certificates
        self.receipt = statement["receipt"]?.byteString
        self.authenticatorData = data
    }

    package var encoded: [UInt8] {
        var statement = [CBOR.Entry(.text("x5c"), .array(self.certificates.map { .bytes($0) }))]
        if let receipt = self.receipt { statement.append(CBOR.Entry(.text("receipt"), .bytes(receipt))) }
        return CBOR.map([
            CBOR.Entry(.text("fmt"), .text(self.format)),
            CBOR.Entry(.text("attStmt"), .map(statement)),
            CBOR.Entry(.text("authData"), .bytes(self.authenticatorData)),
        ]).encoded
    }
}

/// An error from decoding an attestation or assertion.
///
/// The evidence should be rejected.
package enum AppAttestObjectError: Error, Hashable {
    case cbor(CBORError)
    /// A member is missing or has the wrong type.
    case member(String)
    /// The format is not Apple's.
    case unknownFormat
    /// An item in the list of certificates is not a byte string.
    case certificates
}

/// The result of `DCAppAttestService.generateAssertion`.
package struct AppAttestAssertion: Hashable, Sendable {
    /// The DER-encoded ECDSA signature of the nonce.
    package var signature: [UInt8]
    /// The encoded ``AuthenticatorData``, as it was signed.
    package var authenticatorData: [UInt8]

    package init(signature: [UInt8], authenticatorData: [UInt8]) {
        self.signature = signature
        self.authenticatorData = authenticatorData
    }

    /// Decodes exactly one assertion.
    package init(decoding bytes: [UInt8]) throws(AppAttestObjectError) {
        let item = try CBOR(evidence: bytes)
        guard let signature = item["signature"]?.byteString else { throw .member("signature") }
        guard let data = item["authenticatorData"]?.byteString else { throw .member("authenticatorData") }
        self.signature = signature
        self.authenticatorData = data
    }

    package var encoded: [UInt8] {
        CBOR.map([
            CBOR.Entry(.text("signature"), .bytes(self.signature)),
            CBOR.Entry(.text("authenticatorData"), .bytes(self.authenticatorData)),
        ]).encoded
    }

    /// Returns the bytes signed by the key: the SHA-256 digest of the authenticator data followed by the client data
    /// hash.
    package static func nonce(authenticatorData: [UInt8], clientDataHash: [UInt8]) -> SHA256Digest {
        sha256(authenticatorData + clientDataHash)
    }
}

/// The Apple service that attested a key.
package enum AppAttestEnvironment: String, Hashable, Sendable, CaseIterable {
    case development, production

    /// The aaguid that identifies the environment.
    package var aaguid: [UInt8] {
        switch self {
        case .development: Array("appattestdevelop".utf8)
        case .production: Array("appattest".utf8) + Array(repeating: 0, count: 7)
        }
    }

    package init?(aaguid: [UInt8]) {
        guard let match = Self.allCases.first(where: { $0.aaguid == aaguid }) else { return nil }
        self = match
    }
}

extension CBOR {
    fileprivate init(evidence bytes: [UInt8]) throws(AppAttestObjectError) {
        do throws(CBORError) { try self.init(decoding: bytes) } catch { throw .cbor(error) }
    }
}

/// The receipt in an App Attest attestation, which is an input for Apple's fraud metric and not part of the
/// verification.
///
/// It is BER-encoded CMS SignedData (RFC 5652), whose content is a SET of numbered fields.
package struct AppAttestReceipt: Hashable, Sendable {
    /// The fields by number.
    ///
    /// If a number occurs more than once, the first field is used.
    private let fields: [Int: [UInt8]]
    /// The bytes signed by Apple: the content itself, even if there are signed attributes.
    package let content: [UInt8]
    package let signature: [UInt8]
    /// The included certificates, in order.
    package let certificates: [Certificate]
    /// Whether the receipt has signed attributes, as in receipts from 2020.
    package let hasSignedAttributes: Bool

    package init(decoding bytes: [UInt8]) throws(DERError) {
        var outer = DERMembers(try DERNode(parsingBER: bytes).sequence("ContentInfo"))
        _ = try outer.next("contentType")
        var signed = DERMembers(try outer.next("content").onlyChild("SignedData").sequence("SignedData"))
        _ = try signed.next("version")
        _ = try signed.next("digestAlgorithms")
        var encapsulated = DERMembers(try signed.next("encapContentInfo").sequence("EncapsulatedContentInfo"))
        _ = try encapsulated.next("eContentType")
        self.content = try encapsulated.next("eContent").onlyChild("eContent").joinedOctets()
        self.certificates = try signed.next(tagged: 0).map(Self.certificates) ?? []
        _ = signed.next(tagged: 1)
        let signers = try signed.next("signerInfos").set("SignerInfos")
        guard let signer = try signers.first?.sequence("SignerInfo"),
            let signature = signer.last(where: { $0.isUniversal(DERTag.octetString) })
        else { throw .missing("SignerInfo") }
        self.signature = try signature.joinedOctets()
        self.hasSignedAttributes = signer.contains { $0.contextTag == 0 }
        self.fields = try Self.fields(of: self.content)
    }

    /// The app id in the form `TEAMID.bundle.id`.
    package var appID: String? { self.text(2) }
    /// The attested key's certificate.
    package var certificate: [UInt8]? { self.fields[3] }
    package var clientDataHash: [UInt8]? { self.fields[4] }
    /// The type, ATTEST or RECEIPT.
    package var type: String? { self.text(6) }
    /// The environment, if the receipt contains it.
    package var environment: String? { self.text(7) }
    package var created: String? { self.text(12) }
    /// The number of keys that the device has attested recently; only present in refreshed receipts.
    package var riskMetric: String? { self.text(17) }
    package var notBefore: String? { self.text(19) }
    package var expires: String? { self.text(21) }

    private func text(_ field: Int) -> String? {
        self.fields[field].flatMap { String(validating: $0, as: UTF8.self) }
    }

    private static func fields(of content: [UInt8]) throws(DERError) -> [Int: [UInt8]] {
        var fields: [Int: [UInt8]] = [:]
        for node in try DERNode(parsingBER: content).set("receipt fields") {
            var members = DERMembers(try node.sequence("receipt field"))
            guard let number = Int(exactly: try members.next("number").integer()) else { throw .number }
            _ = try members.next("version")
            let value = try members.next("value").joinedOctets()
            fields[number] = fields[number] ?? value
        }
        return fields
    }

    private static func certificates(_ node: DERNode) throws(DERError) -> [Certificate] {
        var certificates: [Certificate] = []
        for child in try node.children("certificates") { certificates.append(try Certificate(decoding: child.encoded)) }
        return certificates
    }
}

/// The information in an App Attest leaf apart from the nonce.
///
/// It is displayed to operators but not trusted.
package struct AppleCertificateFacts: Hashable, Sendable {
    /// The app id, or nil if it is missing.
    package let appID: String?
    /// The OS version, such as `26.1`, or nil if it is missing.
    package let osVersion: String?
    /// The OS build, such as `23B85`, or nil if it is missing.
    package let osBuild: String?
    /// The platform, such as `iphoneos`, or nil if it is missing.
    package let platform: String?

    /// Reads the information from a certificate.
    ///
    /// This never fails, because anything that cannot be read is treated as missing.
    package init(_ certificate: Certificate) {
        let application = Self.texts(certificate.values(of: .appAttestApplication).first)
        let system = Self.texts(certificate.values(of: .appAttestSystem).first)
        self.appID = application[1204]
        self.osVersion = system[1400] ?? system[1405]
        self.osBuild = system[1403]
        self.platform = system[1026]
    }

    /// Returns the texts in a SEQUENCE, keyed by tag.
    private static func texts(_ value: [UInt8]?) -> [UInt: String] {
        guard let value, let members = try? DERNode(parsing: value).children("fields") else { return [:] }
        var texts: [UInt: String] = [:]
        for member in members {
            guard let tag = member.contextTag, let field = try? member.onlyChild("field"),
                field.isUniversal(DERTag.octetString) || field.isUniversal(DERTag.utf8String),
                let bytes = try? field.primitive("text"), let text = String(validating: bytes, as: UTF8.self)
            else { continue }
            texts[tag] = text
        }
        return texts
    }
}
