/// What was true at the end of an interval, and what it cost; nil where it is not known.
package struct Gauges: Sendable, Equatable, Codable {
    /// Open connections, idle ones included.
    package var connections: Int
    /// Operations that were sent and not yet answered.
    package var inFlight: Int
    /// Operations per second that the plan asked for; nil in a closed loop.
    package var plannedRate: Double?
    /// CPU time, in seconds, that the server's process used in this interval.
    package var serverCPUSeconds: Double?
    /// The server's resident memory in bytes.
    package var serverResidentBytes: Int?
    /// CPU time, in seconds, that this tool used in this interval.
    package var toolCPUSeconds: Double?
    /// CPU time, in µs, that one P-256 verification took meanwhile on the server's machine.
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
