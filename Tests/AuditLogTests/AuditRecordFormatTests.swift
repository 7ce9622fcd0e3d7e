import Synchronization
import Testing
import Vocabulary

@testable import AuditLog

@Suite("Audit entries for log services")
struct AuditRecordFormatTests {
    private let log: LogUnderTest
    private let written = Written()

    private final class Written: Sendable {
        private let kept = Mutex<[(AuditEntry, [UInt8])]>([])
        var lines: [[UInt8]] { self.kept.withLock { $0.map(\.1) } }
        var last: (entry: AuditEntry, line: [UInt8])? { self.kept.withLock { $0.last } }
        func add(_ entry: AuditEntry, _ line: [UInt8]) { self.kept.withLock { $0.append((entry, line)) } }
    }

    init() async throws { self.log = try await LogUnderTest() }

    private var parts: AuditLog.Parts {
        var parts = self.log.parts
        parts.onWritten = { [written] in written.add($0, $1) }
        return parts
    }

    /// The fields of a record in journald's native protocol, each with a length.
    private static func fields(_ record: [UInt8]) throws -> [(name: String, value: String)] {
        var (rest, fields): (ArraySlice<UInt8>, [(String, String)]) = (record[...], [])
        while !rest.isEmpty {
            let end = try #require(rest.firstIndex(of: 0x0A))
            let name = String(decoding: rest[..<end], as: UTF8.self)
            let digits = rest[(end + 1)...].prefix(8)
            try #require(digits.count == 8)
            let count = digits.reversed().reduce(0) { $0 << 8 | Int($1) }
            let value = rest[(end + 9)...].prefix(count)
            try #require(value.count == count && rest[(end + 9 + count)...].first == 0x0A)
            fields.append((name, String(decoding: value, as: UTF8.self)))
            rest = rest[(end + 10 + count)...]
        }
        return fields
    }

    private static func value(_ name: String, in record: [UInt8]) throws -> [String] {
        try Self.fields(record).filter { $0.name == name }.map(\.value)
    }

    @Test("each line is handed over once it is in the file, in the order of the file")
    func order() async throws {
        try await AuditLog.create(self.parts)
        let audit = try await AuditLog.open(self.parts)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask { try await audit.append(.started, by: .server, .done(of: nil, result: "")) }
            }
            try await group.waitForAll()
        }
        await audit.close()
        #expect(try self.log.bytes() == Array(self.written.lines.joined()))
    }

    @Test("a log that ends with the remains of a crash hands over the entry that records them")
    func remains() async throws {
        try await AuditLog.create(self.parts)
        try self.log.write(try self.log.bytes() + Array("{\"number\":2,".utf8))
        await (try await AuditLog.open(self.parts)).close()
        let lines = self.written.lines
        try #require(lines.count == 2)
        #expect(try self.log.bytes().suffix(lines[1].count).elementsEqual(lines[1]))
    }

    @Test("a record of journald has the entry's members as fields, and no value can begin another field")
    func journal() async throws {
        try await AuditLog.create(self.parts)
        let audit = try await AuditLog.open(self.parts)
        let actor = AuditActor(rawValue: "uid 7 (x\nPRIORITY=0\nMESSAGE=nothing)")
        let subject = AuditSubject(wallets: Array(LogUnderTest.wallets.prefix(2)))
        try await audit.append(.revokeWallets, by: actor, on: subject, .failed(of: nil, reason: "no"))
        await audit.close()
        let (entry, line) = try #require(self.written.last)
        let record = AuditRecordFormat.journal.record(of: entry, line: line, processID: 7)
        #expect(try Self.value("PRIORITY", in: record) == ["4"])
        #expect(try Self.value("REMOTE_PIN_AUDIT_NUMBER", in: record) == ["2"])
        #expect(try Self.value("REMOTE_PIN_AUDIT_EVENT", in: record) == ["revoke wallet"])
        #expect(try Self.value("REMOTE_PIN_AUDIT_PHASE", in: record) == ["failed"])
        #expect(try Self.value("REMOTE_PIN_AUDIT_ACTOR", in: record) == [actor.rawValue])
        #expect(try Self.value("REMOTE_PIN_AUDIT_WALLET", in: record) == subject.wallets.map { "\($0)" })
        #expect(
            try Self.value("REMOTE_PIN_AUDIT_LINE", in: record) == [String(decoding: line.dropLast(), as: UTF8.self)]
        )
        #expect(
            try Self.value("MESSAGE", in: record).first?.hasPrefix("audit entry 2: revoke wallet failed by ") == true
        )
    }

    @Test("a syslog message has priority, sender and the whole line as JSON")
    func syslog() async throws {
        try await AuditLog.create(self.parts)
        let (entry, line) = try #require(self.written.last)
        let text = String(decoding: AuditRecordFormat.syslog.record(of: entry, line: line, processID: 7), as: UTF8.self)
        #expect(text == "<85>remote-pin-audit[7]: @cee:" + String(decoding: line.dropLast(), as: UTF8.self))
    }

    @Test("a line that is longer than a record is left out, and the entry is still named")
    func longLine() async throws {
        try await AuditLog.create(self.parts)
        let audit = try await AuditLog.open(self.parts)
        let wallets = try (0..<3_000).map { try #require(WalletID([UInt8](repeating: UInt8($0 % 256), count: 16))) }
        let subject = AuditSubject(wallets: wallets)
        try await audit.append(.purge, by: .server, on: subject, .done(of: nil, result: ""))
        await audit.close()
        let (entry, line) = try #require(self.written.last)
        try #require(line.count > AuditRecordFormat.longestLine)
        for format in [AuditRecordFormat.journal, .syslog] {
            let record = format.record(of: entry, line: line, processID: 7)
            #expect(record.count < AuditRecordFormat.longestLine)
            #expect(
                String(decoding: record, as: UTF8.self).contains("audit entry 2: purge done by server, 3000 wallets")
            )
        }
    }
}
