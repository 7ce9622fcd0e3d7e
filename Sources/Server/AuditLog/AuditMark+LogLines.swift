internal import Foundation

extension AuditMark {
    /// Finds the newest mark in a server's log, in either format.
    ///
    /// Returns nil if there is none. Skips a last line that is incomplete.
    ///
    /// Threat: an attacker cuts the audit log and damages the lines of the later marks. A line that announces a mark
    /// but has none is therefore an error.
    ///
    /// Threat: a client puts the text of a mark into a value that the server logs. Such a value is quoted, so text
    /// lines with quotation marks are skipped, and in JSON the mark must be a member of the object. The message must be
    /// the one that announces marks.
    package init?(newestIn log: [UInt8]) throws(UnreadableMark) {
        let lines = log.split(separator: 0x0A, omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated().reversed() {
            guard let text = Self.announced(in: line.last == 0x0D ? line.dropLast() : line) else { continue }
            guard let mark = AuditMark(text) else {
                // Behind the last line feed, the server may be writing a line.
                guard index < lines.count - 1 else { continue }
                throw UnreadableMark(line: index + 1)
            }
            self = mark
            return
        }
        return nil
    }

    private struct Line: Decodable {
        let message: String
        let newest: String?
    }

    /// Returns the text of the mark that a line announces, or nil for any other line.
    private static func announced(in line: ArraySlice<UInt8>) -> String? {
        if line.first == UInt8(ascii: "{") {
            guard let line = try? JSONDecoder().decode(Line.self, from: Data(line)), line.message == "audit log" else {
                return nil
            }
            return line.newest ?? ""
        }
        let text = String(decoding: line, as: UTF8.self)
        guard !text.contains("\""), let start = text.firstRange(of: " notice audit log ") else { return nil }
        let word = text[start.upperBound...].split(separator: " ").last { $0.hasPrefix("newest=") }
        return word.map { String($0.dropFirst("newest=".count)) } ?? ""
    }
}

/// A line of a server's log announces a mark of the audit log, but the mark is damaged.
package struct UnreadableMark: Error, Hashable, CustomStringConvertible {
    /// The number of the line, starting at 1.
    package let line: Int

    package var description: String { "line \(self.line) of the server's log announces a mark that cannot be read" }
}
