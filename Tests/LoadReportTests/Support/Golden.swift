import Foundation
import Testing

/// A file with the expected text of a report.
///
/// `UPDATE_GOLDENS=1` overwrites it for a review.
struct Golden {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../Goldens").standardizedFileURL

    static func text(_ name: String) throws -> String {
        try String(contentsOf: Self.folder.appendingPathComponent(name), encoding: .utf8)
    }

    /// Records the first line that differs.
    static func expect(_ name: String, _ text: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        if ProcessInfo.processInfo.environment["UPDATE_GOLDENS"] == "1" {
            try text.write(to: Self.folder.appendingPathComponent(name), atomically: true, encoding: .utf8)
        }
        let expected = try Self.text(name)
        guard text != expected else { return }
        let pairs = zip(text.split(separator: "\n"), expected.split(separator: "\n"))
        let first = pairs.first { $0 != $1 }
        Issue.record(
            "\(name) differs: \(first.map { "'\($0.0)' instead of '\($0.1)'" } ?? "it is longer or shorter")",
            sourceLocation: sourceLocation
        )
    }
}
