/// One completed operation.
package struct Sample: Sendable {
    package let operation: Operation
    package let outcome: Outcome
    /// The time since the operation was due, including any wait for a stalled server.
    package let latency: Duration
    /// The time since the first byte was sent.
    package let serviceTime: Duration
    /// Whether this is the answer that the operation was meant to produce.
    ///
    /// A right PIN rejected because of a block is unexpected but correct. An answer that no correct server would give
    /// is also a violation; see ``Recorder/recordViolation(_:)``.
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
