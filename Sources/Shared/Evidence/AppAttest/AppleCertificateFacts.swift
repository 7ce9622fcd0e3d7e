/// The facts in an App Attest leaf other than the nonce, which are shown to operators but not trusted.
package struct AppleCertificateFacts: Hashable, Sendable {
    /// The app id; nil if not stated.
    package let appID: String?
    /// As in `26.1`; nil if not stated.
    package let osVersion: String?
    /// As in `23B85`; nil if not stated.
    package let osBuild: String?
    /// As in `iphoneos`; nil if not stated.
    package let platform: String?

    /// Creates the facts; this never fails, because facts that cannot be read are treated as missing.
    package init(_ certificate: Certificate) {
        let application = Self.texts(certificate.values(of: .appAttestApplication).first)
        let system = Self.texts(certificate.values(of: .appAttestSystem).first)
        self.appID = application[1204]
        self.osVersion = system[1400] ?? system[1405]
        self.osBuild = system[1403]
        self.platform = system[1026]
    }

    /// The texts under the tags of a SEQUENCE.
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
