package import LoadFleet
package import LoadPlan

/// Why a run did not come about, or could not go on.
package enum RunError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Mend what was asked for.
    case plan(PlanError)
    /// The server does not answer as it must for anything to be measured: see to it first.
    case server(FleetFailure, address: String)
    /// The wallets' file cannot be used any more.
    case fleet(FleetError)
    /// Name the target otherwise.
    case target(Target.Problem)
    /// A person ended it before anything was measured.
    case interrupted

    package var description: String {
        switch self {
        case .plan(let error): error.description
        case .server(let failure, let address): "\(address): \(failure)"
        case .fleet(let error): error.description
        case .target(let problem): problem.description
        case .interrupted: "interrupted before anything was measured"
        }
    }
}
