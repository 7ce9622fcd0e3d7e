import Foundation

/// A JSON value, read without losing whether something is a number or a truth.
enum JSONValue: Decodable, Hashable {
    case object([String: JSONValue])
    case array([JSONValue])
    case string(String)
    case integer(Int)
    case boolean(Bool)

    init(_ text: String) throws {
        self = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Int.self) {
            self = .integer(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    /// Its name in a schema.
    var type: String {
        switch self {
        case .object: "object"
        case .array: "array"
        case .string: "string"
        case .integer: "integer"
        case .boolean: "boolean"
        }
    }

    var object: [String: JSONValue] {
        if case .object(let object) = self { object } else { [:] }
    }

    var array: [JSONValue] {
        if case .array(let array) = self { array } else { [] }
    }

    var string: String? {
        if case .string(let string) = self { string } else { nil }
    }

    subscript(name: String) -> JSONValue? { self.object[name] }
}
