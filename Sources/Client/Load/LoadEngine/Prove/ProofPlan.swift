/// The faults and revocations in a run that proves a server's promises.
package struct ProofPlan: Sendable {
    /// A program that is called with the name of a fault, and later with `heal`, or nil for a run without faults.
    package var hook: OperatorProgram?
    /// The names of the faults.
    ///
    /// Each is injected about equally often.
    package var faults: [String] = []
    /// The mean time between faults.
    package var faultEvery: Duration = .seconds(20)
    /// The mean duration of a fault.
    package var faultFor: Duration = .seconds(3)
    /// A program that is called with the id of a wallet to revoke, or nil for a run without revocations.
    package var revoke: OperatorProgram?
    package var revokeEvery: Duration = .seconds(30)
    /// The time before the end of the plan during which no fault is injected, so that the servers can recover.
    package var rest: Duration = .seconds(10)

    package init() {}
}
