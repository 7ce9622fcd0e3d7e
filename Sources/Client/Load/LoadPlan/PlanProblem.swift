/// One thing that is wrong with what was asked of a run.
package struct PlanProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The option, or the file with its line.
    package let place: String
    package let text: String

    package init(place: String, _ text: String) {
        self.place = place
        self.text = text
    }

    package var description: String { "\(self.place): \(self.text)" }
}

/// Everything that is wrong with it, told at once: mend all of it and start again.
package struct PlanError: Error, Hashable, Sendable, CustomStringConvertible {
    package let problems: [PlanProblem]

    package init(_ problems: [PlanProblem]) {
        self.problems = problems
    }

    package var description: String { self.problems.map(\.description).joined(separator: "\n") }
}
