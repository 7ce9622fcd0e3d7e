internal import HostSystem
internal import Logging
internal import ServerSettings
internal import MetricsEndpoint
internal import Transport

/// Divides the process's file descriptors: wallet connections get those that nothing else needs.
///
/// Threat: if clients could open as many connections as the process may have open files, they would also lock out
/// operators and monitoring, and the store could not reopen its log.
struct OpenFileBudget {
    /// The number of descriptors for the store, logs, hook and event loops, with a margin.
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

    /// The number of open files required for `limits.connections` wallet connections.
    var needed: Int { self.wanted + self.reserved }

    /// Returns the number of wallet connections possible with the given limit on open files.
    func connections(allowed: Int) throws(Problem) -> Int {
        guard allowed < self.needed else { return self.wanted }
        let left = allowed - self.reserved
        guard left > 0 else {
            throw Problem(
                "only \(allowed) open files are allowed, and the server needs \(self.reserved) besides those of "
                    + "connections",
                cure: Self.cure
            )
        }
        return left
    }

    /// Advice on raising the limit on open files.
    static let cure = "raise the limit (LimitNOFILE in the unit, or ulimit -n)"

    /// Raises the limit on open files as far as allowed; returns the number of wallet connections.
    func connections(log: Logger) throws -> Int {
        let allowed = OpenFiles.raise(to: self.needed).current
        let left = try explaining(.configuration) { try self.connections(allowed: allowed) }
        guard left < self.wanted else { return left }
        log.warning(
            "fewer open files are allowed than `limits.connections` needs",
            metadata: ["allowed": "\(allowed)", "needed": "\(self.needed)", "connections": "\(left)"]
        )
        return left
    }
}
