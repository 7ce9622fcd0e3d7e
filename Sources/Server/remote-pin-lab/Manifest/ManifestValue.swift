internal import AttestationVerifier

/// A JSON value, used to compare the facts in a manifest with those read by the verifier.
enum ManifestValue: Hashable, Sendable {
    case null
    case boolean(Bool)
    case integer(Int128)
    case string(String)
    case array([ManifestValue])
    case object([String: ManifestValue])

    /// Returns the places where `found` differs from `expected`.
    ///
    /// Members missing from `expected` are ignored.
    static func differences(expected: ManifestValue, found: ManifestValue?, path: String = "") -> [String] {
        if case .object(let members) = expected {
            guard case .object(let others) = found else { return ["\(path): expected an object"] }
            return members.sorted { $0.key < $1.key }.flatMap { key, value in
                Self.differences(expected: value, found: others[key], path: path + "/" + key)
            }
        }
        return expected == found ?? .null ? [] : ["\(path): expected \(expected), found \(found ?? .null)"]
    }
}

extension ManifestValue: CustomStringConvertible {
    var description: String {
        switch self {
        case .null: "null"
        case .boolean(let value): String(value)
        case .integer(let value): String(value)
        case .string(let value): "\"\(value)\""
        case .array(let values): "[" + values.map(\.description).joined(separator: ", ") + "]"
        case .object(let members):
            "{" + members.sorted { $0.key < $1.key }.map { "\($0): \($1)" }.joined(separator: ", ") + "}"
        }
    }
}

extension ManifestValue: Decodable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(Int128(value))
        } else if let value = try? container.decode(UInt64.self) {
            self = .integer(Int128(value))
        } else if let value = try? container.decode([ManifestValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: ManifestValue].self))
        }
    }
}

extension ManifestValue {
    /// Returns a string, or null if `value` is nil.
    static func text(_ value: String?) -> ManifestValue { value.map { .string($0) } ?? .null }

    /// Returns a whole number, or null if `value` is nil.
    static func number(_ value: (some BinaryInteger)?) -> ManifestValue { value.map { .integer(Int128($0)) } ?? .null }
}
