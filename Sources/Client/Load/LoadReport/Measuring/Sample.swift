/// One completed operation.
package struct Sample: Sendable {
    package let operation: Operation
    package let outcome: Outcome
    /// The time from the due time, which includes the wait for a server that stalls.
    package let latency: Duration
    /// The time from sending the first byte.
    package let serviceTime: Duration
    /// True if the answer is the one that the operation aimed at.
    ///
    /// A right PIN rejected by a block is unexpected but correct. An answer that no correct server gives is also a
    /// violation; see ``Recorder/recordViolation(_:)``.
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
