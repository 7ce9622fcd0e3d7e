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
/// service did not take are counted and logged with their numbers.
final class AuditExporter: Sendable {
    private let format: AuditRecordFormat
    private let socket: DatagramSocket
    private let report: @Sendable (String) -> Void
    private let sent: Counter
    private let failed: Counter
    /// The number of entries in a row that the service did not take.
    private let missing = Mutex(0)

    /// Returns nil if the settings name no log service.
    ///
    /// - Parameter report: Receives a sentence when the service stops taking entries, and when it takes them again.
    init?(
        _ settings: ServerSettings,
        metrics: any MetricsFactory = NOOPMetricsHandler.instance,
        report: @escaping @Sendable (String) -> Void
    ) throws(StartFailure) {
        let standardPath: String
        switch settings[SettingTable.auditExport] {
        case .none: return nil
        case .journal: (self.format, standardPath) = (.journal, "/run/systemd/journal/socket")
        case .syslog: (self.format, standardPath) = (.syslog, "/dev/log")
        }
        let path = settings[SettingTable.auditExportSocket] ?? standardPath
        guard let socket = DatagramSocket(path: path) else {
            throw StartFailure(.configuration, "`audit.export-socket`: \(path) is longer than 107 bytes")
        }
        self.socket = socket
        self.report = report
        (self.sent, self.failed) = Self.counters(metrics)
    }

    /// Creates both series, so that each starts at 0 even if no log service is set.
    static func announce(to metrics: any MetricsFactory) { _ = self.counters(metrics) }

    private static func counters(_ metrics: any MetricsFactory) -> (sent: Counter, failed: Counter) {
        func counter(_ outcome: String) -> Counter {
            Counter(label: "remote_pin_audit_exports_total", dimensions: [("outcome", outcome)], factory: metrics)
        }
        return (counter("sent"), counter("failed"))
    }

    /// Sends the line of an entry.
    func send(_ line: [UInt8]) {
        do throws(FileError) {
            try self.socket.send(self.format.record(of: line, processID: getpid()))
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
