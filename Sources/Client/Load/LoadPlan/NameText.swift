internal import ConfigText

/// Names of choices as people write them.
package enum NameText {
    /// Reads one of a type's names.
    ///
    /// - Parameter place: the option of which a problem tells.
    package static func read<Choice: RawRepresentable<String> & CaseIterable>(
        _ text: String,
        place: String
    ) throws(PlanProblem) -> Choice {
        if let choice = Choice(rawValue: text) { return choice }
        let names = Choice.allCases.map(\.rawValue)
        let hint = NearestName.to(text, among: names).map { "; did you mean `\($0)`?" } ?? ""
        throw PlanProblem(place: place, "`\(text)` is none of \(names.joined(separator: ", "))\(hint)")
    }
}
