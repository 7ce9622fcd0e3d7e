internal import AdminProtocol
internal import ArgumentParser
internal import ConfigText
internal import Foundation
internal import HostSystem
package import Vocabulary

/// The option that selects the output format of a command.
package struct OutputOptions: ParsableArguments {
    @Flag(help: "Print one JSON object on one line, for programs.")
    var json = false

    package init() {}

    /// Prints a result as JSON with `--json`, otherwise as rendered by `draw`.
    ///
    /// - Parameter server: The server that the result comes from, if several servers share its store.
    package func print(_ value: some Encodable, from server: String? = nil, draw: (inout Page) -> Void) {
        guard self.json else {
            var page = Page()
            draw(&page)
            if let server { page.line("answered by the server \(server)") }
            StandardStreams.writeOutput(page.text)
            return
        }
        let answer = NamedAnswer(value: value, server: server)
        StandardStreams.writeOutput(String(decoding: AdminCoding.encode(answer), as: UTF8.self) + "\n")
    }
}

/// A JSON object with the name of the server that it comes from.
private struct NamedAnswer<Value: Encodable>: Encodable {
    let value: Value
    let server: String?

    func encode(to encoder: any Encoder) throws {
        try self.value.encode(to: encoder)
        if let server { try ["server": server].encode(to: encoder) }
    }
}

/// A JSON object with values of different types; a member without a value is left out.
package struct JSONObject: Encodable, ExpressibleByDictionaryLiteral {
    private struct Member: Encodable {
        let value: any Encodable

        func encode(to encoder: any Encoder) throws { try self.value.encode(to: encoder) }
    }

    private let members: [String: Member]

    package init(dictionaryLiteral members: (String, (any Encodable)?)...) {
        let present = members.compactMap { name, value in value.map { (name, Member(value: $0)) } }
        self.members = Dictionary(uniqueKeysWithValues: present)
    }

    package func encode(to encoder: any Encoder) throws { try self.members.encode(to: encoder) }
}

/// Parses a wallet id from an argument.
package func walletID(_ text: String) throws -> WalletID {
    guard let id = WalletID(hex: text) else {
        throw ValidationError("`\(text)` is not a wallet id: 32 hexadecimal digits, as in the server's log.")
    }
    return id
}

/// Parses a time from an argument.
package func time(_ text: String) throws -> Timestamp {
    guard let time = Timestamp(text: text) else {
        throw ValidationError("`\(text)` is not a time; write 2026-12-24 or 2026-12-24T18:00:00Z.")
    }
    return time
}

/// The human-readable output of a command: lines, lists of facts and tables, in color on a terminal.
package struct Page {
    package private(set) var text = ""
    private let hasColor = Self.hasColor

    package init() {}

    private static var hasColor: Bool {
        let environment = ProcessInfo.processInfo.environment
        return Terminal.isTerminal(1) && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }

    package mutating func line(_ line: String) { self.text += line + "\n" }

    /// Adds a line for each name and its value.
    package mutating func facts(_ facts: [(name: String, value: String)]) {
        let width = facts.map(\.name.count).max() ?? 0
        for (name, value) in facts { self.line("\(self.dim(TextLayout.padded(name, width)))  \(value)") }
    }

    /// Adds a table; no line ends with spaces.
    package mutating func table(_ head: [String], _ rows: [[String]]) {
        let widths = head.indices.map { column in ([head] + rows).map { $0[column].count }.max() ?? 0 }
        func row(_ cells: [String]) -> String {
            let row = zip(cells, widths).map { TextLayout.padded($0, $1) }.joined(separator: "  ")
            return String(row.reversed().drop { $0 == " " }.reversed())
        }
        self.line(self.dim(row(head)))
        for cells in rows { self.line(row(cells)) }
    }

    /// Highlights a normal state.
    package func good(_ text: String) -> String { self.colored(text, "32") }
    /// Highlights a state that is final or needs attention.
    package func bad(_ text: String) -> String { self.colored(text, "31") }
    private func dim(_ text: String) -> String { self.colored(text, "2") }

    private func colored(_ text: String, _ code: String) -> String {
        self.hasColor ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}

extension Duration {
    /// The duration in its two largest units, such as `3 d 4 h` or `59 s`.
    ///
    /// The minimum is one second.
    package var spoken: String {
        let seconds = max(1, self.milliseconds.dividedRoundingUp(by: 1000))
        let parts = [
            (seconds / 86_400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s"),
        ]
        return parts.drop { $0.0 == 0 }.prefix(2).filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: " ")
    }
}
