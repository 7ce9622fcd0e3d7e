internal import HostSystem
internal import LoadPlan

/// The limits on connections from one process and one address.
enum ConnectionLimits {
    /// Open files in addition to connections: the wallets' file, event loops, standard streams.
    static let otherFiles = 64
    /// Connections from one address: below the server's usual limit per source, and far below the number of ports.
    static let connectionsPerAddress = 2_000

    /// Raises the limit of open files for the plan; throws a problem with the remedy if that is not permitted.
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

    /// The local addresses to connect from, alternating; empty if the system's choice suffices.
    ///
    /// All of 127.0.0.0/8 is this machine. One address has some 28,000 ports for each server, and a server
    /// limits the connections of each source.
    static func sourceAddresses(for count: Int, host: String) -> [String] {
        guard host == "127.0.0.1" || host == "localhost", count > Self.connectionsPerAddress else { return [] }
        let addresses = (count + Self.connectionsPerAddress - 1) / Self.connectionsPerAddress
        return (0..<min(addresses, 250 * 250)).map { "127.0.\(1 + $0 / 250).\(1 + $0 % 250)" }
    }
}
