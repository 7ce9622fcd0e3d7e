/// One operation that ended.
public struct Sample: Sendable {
    public let operation: Operation
    public let outcome: Outcome
    /// From when it was due, so that a server that stalls is charged for what had to wait.
    public let latency: Duration
    /// From when its first byte was sent.
    public let serviceTime: Duration
    /// Whether the answer is the one for which the operation was made.
    ///
    /// A right PIN that meets a block is unexpected without being impossible; what is impossible is a violation as well, see
    /// ``Recorder/recordViolation(_:)``.
    public let isExpected: Bool

    public init(
        _ operation: Operation,
        _ outcome: Outcome,
        latency: Duration,
        serviceTime: Duration,
        isExpected: Bool = true
    ) {
        self.operation = operation
        self.outcome = outcome
        self.latency = latency
        self.serviceTime = serviceTime
        self.isExpected = isExpected
    }
}
