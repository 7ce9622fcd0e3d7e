internal import Foundation

/// Parses the timestamp of a server log line in either format.
enum LogTime {
    /// Returns the timestamp in milliseconds since 1970, or nil if the line does not start with one.
    static func milliseconds(of line: String) -> Int64? {
        var text = line[...]
        let name = "{\"time\":\""
        if text.hasPrefix(name) { text = text.dropFirst(name.count) }
        guard let end = text.prefix(30).firstIndex(of: "Z") else { return nil }
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        guard let date = try? Date(String(text[...end]), strategy: style) else { return nil }
        return Int64((date.timeIntervalSince1970 * 1000).rounded())
    }

    /// The current time according to the system clock, as used in the log.
    static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }
}
