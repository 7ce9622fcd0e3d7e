/// The format of the audit entries sent to a log service.
package enum AuditRecordFormat: Sendable {
    /// The native protocol of journald: fields with lengths (systemd, "Native Journal Protocol").
    case journal
    /// A local syslog message whose text is a JSON object behind the cookie `@cee:` (RFC 3164; rsyslog, mmjsonparse).
    case syslog

    /// The name of the sender.
    private static let identifier = "remote-pin-audit"
    /// The facility `authpriv`, for security messages that not every user may read (RFC 3164, section 4.1.1).
    private static let facility = 10
    /// The maximum length of a line in a record, in bytes.
    ///
    /// A datagram must fit into the socket's buffer.
    static let longestLine = 64 << 10

    /// Returns the datagram for an entry.
    ///
    /// If the line does not fit, it is left out. The record still names the entry.
    ///
    /// - Parameter line: The entry's line in the audit log, including the line feed.
    package func record(of entry: AuditEntry, line: [UInt8], processID: Int32) -> [UInt8] {
        let line = line.dropLast()
        let isWhole = line.count <= Self.longestLine
        switch self {
        case .journal:
            var fields: [(String, [UInt8])] = [
                ("MESSAGE", Array(Self.summary(of: entry).utf8)),
                ("PRIORITY", Array("\(Self.severity(of: entry))".utf8)),
                ("SYSLOG_FACILITY", Array("\(Self.facility)".utf8)),
                ("SYSLOG_IDENTIFIER", Array(Self.identifier.utf8)),
                ("REMOTE_PIN_AUDIT_NUMBER", Array("\(entry.number)".utf8)),
                ("REMOTE_PIN_AUDIT_EVENT", Array(entry.record.event.rawValue.utf8)),
                ("REMOTE_PIN_AUDIT_PHASE", Array(entry.record.phase.name.utf8)),
                ("REMOTE_PIN_AUDIT_ACTOR", Array(entry.record.actor.rawValue.utf8)),
            ]
            fields += entry.record.subject.wallets.prefix(Self.mostWallets).map {
                ("REMOTE_PIN_AUDIT_WALLET", Array("\($0)".utf8))
            }
            if isWhole { fields.append(("REMOTE_PIN_AUDIT_LINE", Array(line))) }
            return fields.reduce(into: []) { $0 += Self.field($1.0, $1.1) }
        case .syslog:
            let text = isWhole ? "@cee:" + String(decoding: line, as: UTF8.self) : Self.summary(of: entry)
            let priority = Self.facility * 8 + Self.severity(of: entry)
            return Array("<\(priority)>\(Self.identifier)[\(processID)]: \(text)".utf8)
        }
    }

    /// The maximum number of wallets that get a separate field.
    private static let mostWallets = 100

    /// Returns a field in the format with an explicit length, in which no value can start another field.
    private static func field(_ name: String, _ value: [UInt8]) -> [UInt8] {
        let count = (0..<8).map { UInt8(truncatingIfNeeded: value.count >> (8 * $0)) }  // little-endian
        return Array(name.utf8) + [0x0A] + count + value + [0x0A]
    }

    private static func summary(of entry: AuditEntry) -> String {
        let record = entry.record
        let count = record.subject.wallets.count
        let wallets = count == 0 ? "" : count == 1 ? ", wallet \(record.subject.wallets[0])" : ", \(count) wallets"
        return "audit entry \(entry.number): \(record.event.rawValue) \(record.phase.name) by "
            + "\(record.actor.rawValue)\(wallets)"
    }

    /// Returns the RFC 3164 severity: `warning` for a failure, `notice` otherwise.
    private static func severity(of entry: AuditEntry) -> Int {
        switch entry.record.phase {
        case .failed, .unclear: 4
        case .begun, .done: 5
        }
    }
}
