internal import AuditLog
internal import Glibc
internal import HostSystem
internal import Metrics
internal import ServerCommandLine
internal import ServerSettings
internal import Synchronization

/// Sends each audit entry to a log service once it is on disk.
///
/// A send never waits, so that a hanging log service delays no command. The audit log is the record; entries that the
/// service did not take are counted and logged.
final class AuditExporter: Sendable {
    /// Receives an entry and its line in the audit log.
    typealias Sender = @Sendable (AuditEntry, [UInt8]) -> Void

    private let format: AuditRecordFormat
    private let socket: DatagramSocket
    private let report: @Sendable (String) -> Void
    private let sent: Counter
    private let failed: Counter
    /// The number of entries in a row that the service did not take.
    private let missing = Mutex(0)

    /// Returns the function that sends entries to the log service, and does nothing if the settings name none.
    ///
    /// - Parameter report: Receives a sentence when the service stops taking entries, and when it takes them again.
    static func sender(
        _ settings: ServerSettings,
        metrics: any MetricsFactory = NOOPMetricsHandler.instance,
        report: @escaping @Sendable (String) -> Void
    ) throws(StartFailure) -> Sender {
        // Created in any case, so that each series starts at 0 even if no log service is set.
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
            // Only the first of a row is logged, because a missing service would otherwise double every line.
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
