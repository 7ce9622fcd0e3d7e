internal import ArgumentParser
internal import Foundation
internal import HostSystem
internal import Vocabulary

/// How a command's result is shown.
struct OutputOptions: ParsableArguments {
    @Flag(help: "One JSON object in a line, for programs.")
    var json = false

    /// Prints a result: for programs as it is, for people as `draw` puts it.
    func print(_ value: some Encodable, draw: (inout Page) -> Void) {
        guard self.json else {
            var page = Page()
            draw(&page)
            StandardStreams.writeOutput(page.text)
            return
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else {
            preconditionFailure("texts and numbers can be written as JSON")
        }
        StandardStreams.writeOutput(String(decoding: data, as: UTF8.self) + "\n")
    }
}

/// What people read: lines, facts under one another, tables.
///
/// Colors on a terminal only.
struct Page {
    private(set) var text = ""
    private let hasColor = Self.hasColor

    private static var hasColor: Bool {
        let environment = ProcessInfo.processInfo.environment
        return Terminal.isTerminal(1) && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }

    mutating func line(_ line: String) { self.text += line + "\n" }

    /// Names and values, each pair in a line.
    mutating func facts(_ facts: [(name: String, value: String)]) {
        let width = facts.map(\.name.count).max() ?? 0
        for (name, value) in facts { self.line("\(self.dim(Self.padded(name, to: width)))  \(value)") }
    }

    /// A table; its last column is not padded.
    mutating func table(_ head: [String], _ rows: [[String]]) {
        let widths = head.indices.map { column in ([head] + rows).map { $0[column].count }.max() ?? 0 }
        func row(_ cells: [String]) -> String {
            zip(cells, widths).enumerated().map { index, cell in
                index == head.count - 1 ? cell.0 : Self.padded(cell.0, to: cell.1)
            }.joined(separator: "  ")
        }
        self.line(self.dim(row(head)))
        for cells in rows { self.line(row(cells)) }
    }

    /// What is as it should be.
    func good(_ text: String) -> String { self.colored(text, "32") }
    /// What has ended.
    func bad(_ text: String) -> String { self.colored(text, "31") }
    private func dim(_ text: String) -> String { self.colored(text, "2") }

    private func colored(_ text: String, _ code: String) -> String {
        self.hasColor ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }

    private static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}

extension Timestamp {
    /// As ISO 8601 in UTC, with milliseconds.
    var text: String {
        // What is formatted is cut off, not rounded: half a millisecond more keeps the last digit.
        Date(timeIntervalSince1970: (Double(self.milliseconds) + 0.5) / 1000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// Reads ISO 8601: `2026-12-24`, `2026-12-24T18:00:00Z`, with or without fractions.
    init?(text: String) {
        let date =
            (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
            ?? (try? Date(text, strategy: Date.ISO8601FormatStyle()))
            ?? (try? Date(text, strategy: Date.ISO8601FormatStyle().year().month().day()))
        guard let milliseconds = date.map({ ($0.timeIntervalSince1970 * 1000).rounded() }), milliseconds >= 0,
            let whole = Int64(exactly: milliseconds)
        else { return nil }
        self.init(milliseconds: whole)
    }
}

extension Duration {
    /// For people, in the two largest units: `3 d 4 h`, `59 s`; less than a second is one.
    var spoken: String {
        let seconds = max(1, (self.milliseconds + 999) / 1000)
        let parts = [
            (seconds / 86_400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s"),
        ]
        return parts.drop { $0.0 == 0 }.prefix(2).filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: " ")
    }
}

/// A wallet's id in an argument.
func walletID(_ text: String) throws -> WalletID {
    guard let id = WalletID(hex: text) else {
        throw ValidationError("`\(text)` is no wallet id: 32 hexadecimal digits, as the server's log shows them.")
    }
    return id
}
