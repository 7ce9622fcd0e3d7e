internal import FoundationEssentials

/// A JSON value whose objects preserve the order of their keys.
package indirect enum JSONTree {
    case text(String)
    case number(Int64)
    case truth(Bool)
    case list([JSONTree])
    case object([(String, JSONTree)])

    /// Returns an object with the keys of both objects.
    ///
    /// If a key is in both, the value from `other` is used, except for a description.
    func merging(_ other: JSONTree) -> JSONTree {
        guard case .object(let left) = self, case .object(let right) = other else { return self }
        let names = Set(right.map(\.0))
        return .object(
            left.filter { !names.contains($0.0) || $0.0 == "description" }
                + right.filter { pair in
                    pair.0 != "description" || !left.contains { $0.0 == "description" }
                }
        )
    }

    package func text(indentation: String = "") -> String {
        let inner = indentation + "  "
        switch self {
        case .text(let text): return JSONText.quoted(text)
        case .number(let number): return "\(number)"
        case .truth(let truth): return "\(truth)"
        case .list(let list):
            guard !list.isEmpty else { return "[]" }
            if list.allSatisfy(\.isWord) {
                return "[" + list.map { $0.text() }.joined(separator: ", ") + "]"
            }
            return "[\n" + list.map { inner + $0.text(indentation: inner) }.joined(separator: ",\n")
                + "\n\(indentation)]"
        case .object(let pairs):
            guard !pairs.isEmpty else { return "{}" }
            let lines = pairs.map { "\(inner)\(JSONText.quoted($0.0)): \($0.1.text(indentation: inner))" }
            return "{\n" + lines.joined(separator: ",\n") + "\n\(indentation)}"
        }
    }

    private var isWord: Bool {
        switch self {
        case .text, .number, .truth: true
        case .list, .object: false
        }
    }
}

/// Encodes JSON with sorted keys.
package enum JSONText {
    package static func encoded(_ value: some Encodable, isPretty: Bool = false) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if isPretty { encoder.outputFormatting.insert(.prettyPrinted) }
        guard let data = try? encoder.encode(value) else { preconditionFailure("plain values encode") }
        return String(decoding: data, as: UTF8.self)
    }

    /// Returns the text as a JSON string, in quotes.
    package static func quoted(_ text: String) -> String { Self.encoded(text) }
}
