/// The state at the end of an interval and the resources used during it.
///
/// Unknown values are nil.
package struct Gauges: Sendable, Equatable, Codable {
    /// The number of open connections, including idle ones.
    package var connections: Int
    /// The number of operations sent but not yet answered.
    package var inFlight: Int
    /// The planned arrival rate in operations per second, or nil in a closed loop.
    package var plannedRate: Double?
    /// The CPU seconds used by the server process in this interval.
    package var serverCPUSeconds: Double?
    /// The resident memory of the server process in bytes.
    package var serverResidentBytes: Int?
    /// The CPU seconds used by pin-load in this interval.
    package var toolCPUSeconds: Double?
    /// The CPU microseconds needed for one P-256 verification on the server's machine, measured in this interval.
    package var verificationMicroseconds: Double?

    package init(
        connections: Int = 0,
        inFlight: Int = 0,
        plannedRate: Double? = nil,
        serverCPUSeconds: Double? = nil,
        serverResidentBytes: Int? = nil,
        toolCPUSeconds: Double? = nil,
        verificationMicroseconds: Double? = nil
    ) {
        self.connections = connections
        self.inFlight = inFlight
        self.plannedRate = plannedRate
        self.serverCPUSeconds = serverCPUSeconds
        self.serverResidentBytes = serverResidentBytes
        self.toolCPUSeconds = toolCPUSeconds
        self.verificationMicroseconds = verificationMicroseconds
    }
}
