internal import AuditLog
internal import Glibc
internal import HostSystem
internal import Metrics
internal import ServerSettings
internal import Synchronization

/// Sends each audit entry to a log service once it is on disk.
///
/// Sending never blocks, so a log service that hangs cannot delay a command. The audit log remains the authoritative
/// record; entries that the service does not accept are counted and logged.
final class AuditExporter: Sendable {
    /// Sends an entry, given with its line in the audit log.
    typealias Sender = @Sendable (AuditEntry, [UInt8]) -> Void

    private let format: AuditRecordFormat
    private let socket: DatagramSocket
    private let report: @Sendable (String) -> Void
    private let sent: Counter
    private let failed: Counter
    /// The number of consecutive entries that the log service did not accept.
    private let missing = Mutex(0)

    /// Returns a function that sends entries to the log service.
    ///
    /// It does nothing if no service is configured.
    ///
    /// - Parameter report: Called with a message when the service stops accepting entries, and again when it recovers.
    static func sender(
        _ settings: ServerSettings,
        metrics: any MetricsFactory = NOOPMetricsHandler.instance,
        report: @escaping @Sendable (String) -> Void
    ) throws(StartFailure) -> Sender {
        // Both counters are created even if no log service is set, so that each series starts at 0.
        func counter(_ outcome: String) -> Counter {
            Counter(label: "remote_pin_audit_exports_total", dimensions: [("outcome", outcome)], factory: metrics)
        }
        let (sent, failed) = (counter("sent"), counter("failed"))
        let (format, standardPath): (AuditRecordFormat, String)
        switch settings[SettingTable.auditExport] {
        case .none: return { _, _ in }
        case .journal: (format, standardPath) = (.journal, "/run/systemd/journal/socket")
        case .syslog: (format, standardPath) = (.syslog, "/dev/log")
        }
        let path = settings[SettingTable.auditExportSocket] ?? standardPath
        guard let socket = DatagramSocket(path: path) else {
            throw StartFailure(.configuration, "`audit.export-socket`: \(path) is longer than 107 bytes")
        }
        let exporter = AuditExporter(format, socket, sent: sent, failed: failed, report: report)
        return { exporter.send($0, line: $1) }
    }

    private init(
        _ format: AuditRecordFormat,
        _ socket: DatagramSocket,
        sent: Counter,
        failed: Counter,
        report: @escaping @Sendable (String) -> Void
    ) {
        self.format = format
        self.socket = socket
        self.report = report
        (self.sent, self.failed) = (sent, failed)
    }

    private func send(_ entry: AuditEntry, line: [UInt8]) {
        do throws(FileError) {
            try self.socket.send(self.format.record(of: entry, line: line, processID: getpid()))
        } catch {
            self.failed.increment()
            let count = self.missing.withLock { missing in
                missing += 1
                return missing
            }
            // Log only the first failure in a row. Otherwise, an unreachable service would double every line.
            if count == 1 { self.report("audit entries are not exported: \(error)") }
            return
        }
        self.sent.increment()
        let count = self.missing.withLock { missing in
            defer { missing = 0 }
            return missing
        }
        if count > 0 { self.report("audit entries are exported again; \(count) were not") }
    }
}
