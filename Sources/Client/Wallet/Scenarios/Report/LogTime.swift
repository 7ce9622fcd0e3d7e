internal import Foundation

/// Reads the time of a line in the server's log, in both of its formats.
enum LogTime {
    /// The milliseconds since 1970; nil if the line does not start with a time.
    static func milliseconds(of line: String) -> Int64? {
        var text = line[...]
        let name = "{\"time\":\""
        if text.hasPrefix(name) { text = text.dropFirst(name.count) }
        guard let end = text.prefix(30).firstIndex(of: "Z") else { return nil }
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        guard let date = try? Date(String(text[...end]), strategy: style) else { return nil }
        return Int64((date.timeIntervalSince1970 * 1000).rounded())
    }

    /// The present time of the system's clock, which also writes the log.
    static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }
}
