internal import ConfigText

/// Parses the names of choices in options.
package enum NameText {
    /// Parses the name of a choice.
    ///
    /// - Parameter place: The option name, for error messages.
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
