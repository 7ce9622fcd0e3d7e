internal import ConfigText

/// Names of choices in options.
package enum NameText {
    /// Reads one of a type's names.
    ///
    /// - Parameter place: The option, for problems.
    package static func read<Choice: RawRepresentable<String> & CaseIterable>(
        _ text: String,
        place: String
    ) throws(PlanProblem) -> Choice {
        if let choice = Choice(rawValue: text) { return choice }
        let names = Choice.allCases.map(\.rawValue)
        let hint = NearestName.hint(for: text, among: names, isListed: true)
        throw PlanProblem(place: place, "`\(text)` is not one of \(names.joined(separator: ", "))\(hint)")
    }
}
