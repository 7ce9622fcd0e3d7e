/// The state at the end of an interval and the resources used during it; unknown values are nil.
package struct Gauges: Sendable, Equatable, Codable {
    /// Open connections, including idle ones.
    package var connections: Int
    /// Operations sent and not yet answered.
    package var inFlight: Int
    /// The planned arrival rate in operations per second; nil in a closed loop.
    package var plannedRate: Double?
    /// CPU seconds that the server process used in this interval.
    package var serverCPUSeconds: Double?
    /// Resident memory of the server process in bytes.
    package var serverResidentBytes: Int?
    /// CPU seconds that pin-load used in this interval.
    package var toolCPUSeconds: Double?
    /// CPU microseconds of one P-256 verification on the server's machine, measured in this interval.
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
