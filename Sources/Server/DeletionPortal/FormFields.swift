internal import Foundation

/// The fields of a submitted form (application/x-www-form-urlencoded).
struct FormFields {
    /// The media type of forms.
    static let mediaType = "application/x-www-form-urlencoded"
    /// The maximum length of a body in bytes.
    ///
    /// The longest escaped code, a seal and the field names fit into it.
    static let longestByteCount = 2048

    private let values: [String: String]

    /// Parses a body.
    ///
    /// Returns nil if it contains a repeated field, an invalid escape or invalid UTF-8.
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

    /// Returns the value of a field, or an empty string if the field is missing.
    subscript(name: String) -> String { self.values[name] ?? "" }

    private static func decoded(_ text: Substring) -> String? {
        text.replacing("+", with: " ").removingPercentEncoding
    }
}
