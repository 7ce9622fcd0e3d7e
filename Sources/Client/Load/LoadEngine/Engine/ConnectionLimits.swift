internal import HostSystem
internal import LoadPlan

/// Limits on connections from one process and one address.
enum ConnectionLimits {
    /// The number of open files other than connections: the wallet file, event loops and standard streams.
    static let otherFiles = 64
    /// The number of connections from one address.
    ///
    /// It is below the server's usual limit per source and far below the number of ports.
    static let connectionsPerAddress = 2_000

    /// Raises the limit on open files for the plan.
    ///
    /// If that is not permitted, throws a problem that says how to fix it.
    static func prepare(for plan: LoadPlan) throws(PlanProblem) {
        let needed = plan.peakConnections + Self.otherFiles
        let limit = OpenFiles.raise(to: needed)
        guard limit.current < needed else { return }
        throw PlanProblem(
            place: plan.isOpen ? "--connections" : "--stages",
            """
            \(plan.peakConnections) connections need \(needed) open files, and this user's limit is \(limit.highest). \
            Raise the limit first, as root: `prlimit --pid $$ --nofile=\(needed)`, then start again from that shell.
            """
        )
    }

    /// Returns the local addresses to connect from in turn, or an empty list if the system can choose.
    ///
    /// All addresses in 127.0.0.0/8 belong to this machine. Each address has about 28,000 ports per server, and the
    /// server limits the number of connections per source.
    static func sourceAddresses(for count: Int, host: String) -> [String] {
        guard host == "127.0.0.1" || host == "localhost", count > Self.connectionsPerAddress else { return [] }
        let addresses = (count + Self.connectionsPerAddress - 1) / Self.connectionsPerAddress
        return (0..<min(addresses, 250 * 250)).map { "127.0.\(1 + $0 / 250).\(1 + $0 % 250)" }
    }
}
