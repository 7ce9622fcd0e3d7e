internal import SwiftASN1

/// An error from reading a DER structure.
///
/// The evidence should be rejected.
package enum DERError: Error, Hashable {
    /// The bytes are not a DER value, or other bytes follow it.
    case notDER
    /// The structure has more values than any certificate.
    case tooManyValues
    /// A value has an unexpected type.
    case expected(String)
    /// A structure is missing a required member.
    case missing(String)
    /// A number has too many bytes or is not in its shortest form.
    case number
    /// A date cannot be parsed.
    case time
}

/// A value in a parsed DER structure, with the accessors needed for certificates.
///
/// It is deliberately lenient about deviations found in real devices (0x01 as BOOLEAN true, NULL parameters), but
/// strict about anything that could be used to hide data: every structure is read to the end.
struct DERNode {
    private let node: ASN1Node

    /// Parses exactly one value.
    ///
    /// Trailing bytes are not allowed.
    init(parsing bytes: [UInt8]) throws(DERError) {
        guard DERBudget.admits(bytes) else { throw .tooManyValues }
        do {
            self.node = try DER.parse(bytes)
        } catch {
            throw .notDER
        }
    }

    /// Parses exactly one BER value, which may have indefinite lengths.
    init(parsingBER bytes: [UInt8]) throws(DERError) {
        guard DERBudget.admits(bytes) else { throw .tooManyValues }
        do {
            self.node = try BER.parse(bytes)
        } catch {
            throw .notDER
        }
    }

    private init(_ node: ASN1Node) {
        self.node = node
    }

    /// The entire value, with its tag, length and content.
    var encoded: [UInt8] { Array(self.node.encodedBytes) }

    /// The number of a context-specific tag, or nil for tags of any other class.
    var contextTag: UInt? {
        self.node.identifier.tagClass == .contextSpecific ? self.node.identifier.tagNumber : nil
    }

    /// Returns the content of a primitive value.
    func primitive(_ expectation: String) throws(DERError) -> [UInt8] {
        guard case .primitive(let content) = self.node.content else { throw .expected(expectation) }
        return Array(content)
    }

    /// Returns the members of a constructed value.
    func children(_ expectation: String) throws(DERError) -> [DERNode] {
        guard case .constructed(let nodes) = self.node.content else { throw .expected(expectation) }
        return nodes.map { DERNode($0) }
    }

    /// Returns the only value under an explicit tag.
    func onlyChild(_ expectation: String) throws(DERError) -> DERNode {
        let children = try self.children(expectation)
        guard children.count == 1 else { throw .expected(expectation) }
        return children[0]
    }

    func isUniversal(_ number: UInt) -> Bool {
        self.node.identifier.tagClass == .universal && self.node.identifier.tagNumber == number
    }
}

/// The universal tags used here (X.680 §8.4).
enum DERTag {
    static let boolean: UInt = 1
    static let integer: UInt = 2
    static let bitString: UInt = 3
    static let octetString: UInt = 4
    static let null: UInt = 5
    static let objectIdentifier: UInt = 6
    static let enumerated: UInt = 10
    static let utf8String: UInt = 12
    static let sequence: UInt = 16
    static let set: UInt = 17
    static let utcTime: UInt = 23
    static let generalizedTime: UInt = 24
}
