import Foundation
import TestSupport
import Testing

@testable import AuditLog

@Suite("Marks of the audit log in the store and the log stream")
struct AuditMarkTests {
    @Test("a log without the entry that the store names is not continued: cut, torn after a cut, or another log")
    func named() async throws {
        let log = try await LogUnderTest()
        let whole = try await log.filled()
        let newest = try log.marks.last.orThrow()
        func refusal(_ bytes: [UInt8], last: AuditMark) async throws -> AuditLogError? {
            try log.write(bytes)
            var parts = log.parts
            parts.last = last
            do throws(AuditLogError) {
                await (try await AuditLog.open(parts)).close()
                return nil
            } catch {
                #expect(try log.bytes() == bytes)
                return error
            }
        }
        #expect(try await refusal(whole, last: newest) == nil)
        let lines = LogUnderTest.lines(whole)
        let cut = Array(lines.dropLast(2).joined())
        let lacks = AuditLogError.lacksEntry(log.path, .cut(newest: 4, expected: 6))
        #expect(try await refusal(cut, last: newest) == lacks)
        // The remains of a crash do not hide the cut.
        #expect(try await refusal(cut + lines[4].prefix(20), last: newest) == lacks)
        let other = AuditMark(number: 5, mac: newest.mac)
        let replaced = AuditLogError.lacksEntry(log.path, .replaced(number: 5))
        #expect(try await refusal(whole, last: other) == replaced)
        #expect("\(replaced)".contains("remote-pin-server backup FILE"))
    }

    @Test("every entry is announced in the log stream, also when the log is opened, and the chain continues after it")
    func announced() async throws {
        let log = try await LogUnderTest()
        _ = try await log.filled()
        #expect(log.marks.map(\.number) == [1, 2, 3, 4, 5, 6])
        let again = try await log.open()
        #expect(again.newest == log.marks.last)
        #expect(try await again.append(.wipe, by: .wallet, .begun).number == 7)
        #expect(try await log.verify().problem == nil)
        #expect(log.marks.map(\.number) == [1, 2, 3, 4, 5, 6, 6, 7])
    }

    @Test("the newest mark is read from a server's log in both formats, and not from a value that a client sent")
    func newestInLog() throws {
        let (old, new) = ("7:0-" + String(repeating: "ab", count: 32), "8:0-" + String(repeating: "cd", count: 32))
        let other = "9:0-" + String(repeating: "ef", count: 32)
        func newest(_ lines: String...) throws -> String? {
            try AuditMark(newestIn: Array((lines.joined(separator: "\n") + "\n").utf8))?.description
        }
        let text = "2026-11-23T10:00:00.000Z notice audit log generation=12 newest="
        let json = "{\"time\":\"2026\",\"level\":\"notice\",\"message\":\"audit log\",\"newest\":\""
        #expect(try newest(text + old, text + new, "2026-11-23T10:00:01.000Z info a line") == new)
        #expect(try newest("Nov 23 10:00:00 host remote-pin-server[7]: " + text + old) == old)
        #expect(try newest(json + old + "\"}", json + new + "\"}") == new)
        for line in [text + new, json + new + "\"}"] { #expect(try newest(text + old, line + "\r") == new) }
        for line in [text + new + "x", text + "\r\r", json + "\"}", "{\"message\":\"audit log\"}"] {
            #expect(throws: UnreadableMark(line: 2)) { try newest(text + old, line) }
            // The server may be writing the line.
            #expect(try AuditMark(newestIn: Array((text + old + "\n" + line).utf8))?.description == old)
        }
        #expect(try newest("2026-11-23T10:00:00.000Z info a line", "") == nil)
        #expect(
            try newest(text + old, "2026 info no TLS connection reason=\" notice audit log newest=\(other)\"") == old
        )
        #expect(try newest(text + old, "2026 info no TLS connection reason=\" notice audit log newest=\(other)") == old)
        #expect(try newest(json + old + "\"}", "{\"message\":\"x\",\"newest\":\"\(other)\"}") == old)
    }
}
