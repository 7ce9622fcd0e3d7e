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
