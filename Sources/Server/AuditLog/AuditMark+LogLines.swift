internal import Foundation

extension AuditMark {
    /// Finds the newest mark in a server's log, in either format.
    ///
    /// Returns nil if there is none.
    ///
    /// Threat: a client puts the text of a mark into a value that the server logs. Such a value is quoted, so text
    /// lines with quotation marks are skipped, and in JSON the mark must be a member of the object. The message must be
    /// the one that announces marks.
    package init?(newestIn log: [UInt8]) {
        for line in log.split(separator: 0x0A).reversed() {
            guard let mark = Self.mark(in: line) else { continue }
            self = mark
            return
        }
        return nil
    }

    private struct Line: Decodable {
        let message: String
        let newest: String
    }

    private static func mark(in line: ArraySlice<UInt8>) -> AuditMark? {
        if line.first == UInt8(ascii: "{") {
            guard let line = try? JSONDecoder().decode(Line.self, from: Data(line)), line.message == "audit log" else {
                return nil
            }
            return AuditMark(line.newest)
        }
        let text = String(decoding: line, as: UTF8.self)
        guard !text.contains("\""), let start = text.firstRange(of: " notice audit log ") else { return nil }
        let word = text[start.upperBound...].split(separator: " ").last { $0.hasPrefix("newest=") }
        return word.flatMap { AuditMark(String($0.dropFirst("newest=".count))) }
    }
}
