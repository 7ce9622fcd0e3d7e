/// One operation that ended.
package struct Sample: Sendable {
    package let operation: Operation
    package let outcome: Outcome
    /// From when it was due, so that a server that stalls is charged for what had to wait.
    package let latency: Duration
    /// From when its first byte was sent.
    package let serviceTime: Duration
    /// Whether the answer is the one for which the operation was made.
    ///
    /// A right PIN that meets a block is unexpected without being impossible; what is impossible is a violation as well, see
    /// ``Recorder/recordViolation(_:)``.
    package let isExpected: Bool

    package init(
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
