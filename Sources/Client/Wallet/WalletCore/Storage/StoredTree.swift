internal import Statements
internal import Vocabulary

/// Any JSON value.
///
/// Used to compare a file with the state that was read from it.
///
/// Decoders ignore unknown keys, so a damaged name would look like a missing value.
enum StoredTree: Hashable, Decodable {
    case object([String: StoredTree])
    case list([StoredTree])
    case text(String)
    case number(Int64)
    case truth(Bool)
    case null

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let truth = try? value.decode(Bool.self) {
            self = .truth(truth)
        } else if let number = try? value.decode(Int64.self) {
            self = .number(number)
        } else if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let list = try? value.decode([StoredTree].self) {
            self = .list(list)
        } else {
            self = .object(try value.decode([String: StoredTree].self))
        }
    }

    /// The SHA-256 digest of the value in a canonical form, with sorted keys and length-prefixed text.
    ///
    /// This makes it independent of how a particular version of the JSON encoder writes the value.
    var digest: SHA256Digest {
        var bytes: [UInt8] = []
        self.add(to: &bytes)
        return .of(bytes)
    }

    private func add(to bytes: inout [UInt8]) {
        switch self {
        case .object(let fields):
            bytes += Array("o\(fields.count):".utf8)
            for (name, value) in fields.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
                StoredTree.text(name).add(to: &bytes)
                value.add(to: &bytes)
            }
        case .list(let values):
            bytes += Array("l\(values.count):".utf8)
            for value in values { value.add(to: &bytes) }
        case .text(let text): bytes += Array("s\(text.utf8.count):\(text)".utf8)
        case .number(let number): bytes += Array("n\(number);".utf8)
        case .truth(let truth): bytes += Array(truth ? "t".utf8 : "f".utf8)
        case .null: bytes += Array("0".utf8)
        }
    }
}
