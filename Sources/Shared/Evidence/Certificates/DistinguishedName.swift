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
