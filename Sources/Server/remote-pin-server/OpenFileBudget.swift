internal import HostSystem
internal import Logging
internal import ServerCommandLine
internal import ServerSettings
internal import Telemetry
internal import Transport

/// The distribution of the process's file descriptors: wallets get those that nothing else needs.
///
/// Threat: clients that hold as many connections as the process may have open files would also lock out operators
/// and monitoring, and the store could not reopen its log.
struct OpenFileBudget {
    /// Store, logs, hook, event loops, and a margin.
    private static let otherFiles = 256

    private let wanted: Int
    private let reserved: Int

    init(_ settings: ServerSettings) {
        self.wanted = settings[SettingTable.connections]
        self.reserved =
            Self.otherFiles + TransportLimits.admin.connections
            + (settings[SettingTable.portalSocket] == nil ? 0 : TransportLimits.portal.connections)
            + (settings[SettingTable.observationListen] == nil ? 0 : ObservationListener.Limits().connections)
    }

    /// Raises the limit of open files as far as allowed; returns the number of connections that wallets may have.
    func connections(log: Logger) throws -> Int {
        let needed = self.wanted + self.reserved
        let limit = OpenFiles.raise(to: needed)
        guard limit.current < needed else { return self.wanted }
        let left = limit.current - self.reserved
        guard left > 0 else {
            throw StartFailure(
                .configuration,
                "only \(limit.current) open files are allowed, and the server needs \(self.reserved) besides those of "
                    + "connections: raise the limit (LimitNOFILE in the unit, or ulimit -n)"
            )
        }
        log.warning(
            "fewer open files are allowed than `limits.connections` needs",
            metadata: ["allowed": "\(limit.current)", "needed": "\(needed)", "connections": "\(left)"]
        )
        return left
    }
}
