package import AuditLog
internal import Glibc
internal import HostSystem
package import Metrics
package import ServerSettings
internal import Synchronization

/// Sends each audit entry to a log service once it is on disk.
///
/// Sending never blocks, so a log service that hangs cannot delay a command. The audit log remains the authoritative
/// record; entries that the service does not accept are counted and logged.
package final class AuditExporter: Sendable {
    /// The socket of the log service and the format of its records, or nil if no service is configured.
    private let service: (socket: DatagramSocket, format: AuditRecordFormat)?
    private let report: @Sendable (String) -> Void
    private let sent: Counter
    private let failed: Counter
    /// The number of consecutive entries that the log service did not accept.
    private let missing = Mutex(0)

    /// - Parameter report: Called with a message when the service stops accepting entries, and again when it recovers.
    package init(
        _ settings: ServerSettings,
        metrics: any MetricsFactory = NOOPMetricsHandler.instance,
        report: @escaping @Sendable (String) -> Void
    ) throws(StartFailure) {
        // Both counters are created even if no log service is set, so that each series starts at 0.
        func counter(_ outcome: String) -> Counter {
            Counter(label: "remote_pin_audit_exports_total", dimensions: [("outcome", outcome)], factory: metrics)
        }
        (self.sent, self.failed) = (counter("sent"), counter("failed"))
        self.report = report
        let (format, standardPath): (AuditRecordFormat, String)
        switch settings[SettingTable.auditExport] {
        case .none:
            self.service = nil
            return
        case .journal: (format, standardPath) = (.journal, "/run/systemd/journal/socket")
        case .syslog: (format, standardPath) = (.syslog, "/dev/log")
        }
        let path = settings[SettingTable.auditExportSocket] ?? standardPath
        guard let socket = DatagramSocket(path: path) else {
            throw StartFailure(.configuration, "`audit.export-socket`: \(path) is longer than 107 bytes")
        }
        self.service = (socket, format)
    }

    /// Sends an entry, given with its line in the audit log, if a service is configured.
    package func send(_ entry: AuditEntry, _ line: [UInt8]) {
        guard let service else { return }
        do throws(FileError) {
            try service.socket.send(service.format.record(of: entry, line: line, processID: getpid()))
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
