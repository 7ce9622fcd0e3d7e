/// The faults and revocations of a run that proves a server's promises.
package struct ProofPlan: Sendable {
    /// The program that is called with the name of a fault, and later with `heal`; nil for a run without faults.
    package var hook: OperatorProgram?
    /// The names of the faults; each is injected about equally often.
    package var faults: [String] = []
    /// The mean time without a fault.
    package var faultEvery: Duration = .seconds(20)
    /// The mean length of a fault.
    package var faultFor: Duration = .seconds(3)
    /// The program that is called with the id of a wallet to revoke; nil for a run without revocations.
    package var revoke: OperatorProgram?
    package var revokeEvery: Duration = .seconds(30)
    /// The time before the plan's end during which no fault is injected, so that the servers can recover.
    package var rest: Duration = .seconds(10)

    package init() {}
}
