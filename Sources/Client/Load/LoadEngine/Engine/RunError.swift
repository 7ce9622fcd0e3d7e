package import LoadFleet
package import LoadPlan

/// A reason why a run did not start or could not continue.
package enum RunError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The plan is invalid.
    ///
    /// Correct it.
    case plan(PlanError)
    /// The server's responses do not allow a measurement.
    ///
    /// Fix the server first.
    case server(FleetFailure, address: String)
    /// The wallet file can no longer be used.
    case fleet(FleetError)
    /// The target cannot be used as specified.
    ///
    /// Specify it differently.
    case target(Target.Problem)
    /// A user ended the run before anything was measured.
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

    /// Converts any error thrown by a run against a target.
    init(_ error: any Error, at target: Target) {
        switch error {
        case let error as RunError: self = error
        case let error as PlanError: self = .plan(error)
        case let error as PlanProblem: self = .plan(PlanError([error]))
        case let error as FleetError: self = .fleet(error)
        case FleetFailure.fleet(let error): self = .fleet(error)
        case let error as FleetFailure: self = .server(error, address: target.address)
        case let error as Target.Problem: self = .target(error)
        default: self = .server(.unexpectedAnswer, address: target.address)
        }
    }
}
