/// A mistake in the options or files of a run.
package struct PlanProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The option, or the file and line.
    package let place: String
    package let text: String

    package init(place: String, _ text: String) {
        self.place = place
        self.text = text
    }

    package var description: String { "\(self.place): \(self.text)" }
}

/// All mistakes in the options and files of a run, so that the user can correct them together.
package struct PlanError: Error, Hashable, Sendable, CustomStringConvertible {
    package let problems: [PlanProblem]

    package init(_ problems: [PlanProblem]) {
        self.problems = problems
    }

    package var description: String { self.problems.map(\.description).joined(separator: "\n") }
}
