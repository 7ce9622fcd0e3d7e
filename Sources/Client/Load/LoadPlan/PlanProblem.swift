/// One thing that is wrong with what was asked of a run.
public struct PlanProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The option, or the file with its line.
    public let place: String
    public let text: String

    public init(place: String, _ text: String) {
        self.place = place
        self.text = text
    }

    public var description: String { "\(self.place): \(self.text)" }
}

/// Everything that is wrong with it, told at once: mend all of it and start again.
public struct PlanError: Error, Hashable, Sendable, CustomStringConvertible {
    public let problems: [PlanProblem]

    public init(_ problems: [PlanProblem]) {
        self.problems = problems
    }

    public var description: String { self.problems.map(\.description).joined(separator: "\n") }
}
