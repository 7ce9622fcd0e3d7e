internal import HostSystem
internal import Logging
internal import ServerCommandLine
internal import ServerSettings
internal import MetricsEndpoint
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

    /// The number of open files with which wallets may have `limits.connections` connections.
    var needed: Int { self.wanted + self.reserved }

    /// The number of connections that wallets may have if so many files may be open.
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

    /// The operator's way to more open files.
    static let cure = "raise the limit (LimitNOFILE in the unit, or ulimit -n)"

    /// Raises the limit of open files as far as allowed; returns the number of connections that wallets may have.
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
