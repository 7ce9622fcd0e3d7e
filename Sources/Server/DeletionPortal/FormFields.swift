internal import Foundation

/// The fields of a form as a browser sends them, application/x-www-form-urlencoded.
struct FormFields {
    /// The form's own type.
    static let mediaType = "application/x-www-form-urlencoded"
    /// Bytes of the longest body that is read: the longest code in escapes, a seal and the names.
    static let longestByteCount = 2048

    private let values: [String: String]

    /// Reads a body; nil where it is not one of ours: a field twice, escapes that are none, bytes that are no UTF-8.
    init?(_ body: String) {
        var values: [String: String] = [:]
        for pair in body.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(parts[0]), let value = Self.decoded(parts.count == 2 ? parts[1] : ""),
                values.updateValue(value, forKey: name) == nil
            else { return nil }
        }
        self.values = values
    }

    /// A field's value; empty where there is none.
    subscript(name: String) -> String { self.values[name] ?? "" }

    private static func decoded(_ text: Substring) -> String? {
        text.replacing("+", with: " ").removingPercentEncoding
    }
}
