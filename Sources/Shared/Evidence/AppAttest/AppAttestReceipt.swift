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
    /// The number of keys that the device has attested recently.
    ///
    /// Only present in refreshed receipts.
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
