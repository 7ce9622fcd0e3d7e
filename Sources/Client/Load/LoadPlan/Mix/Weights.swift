internal import ConfigText

/// How often each of some choices is taken, among all of them.
package struct Weights<Choice>: Hashable, Sendable
where Choice: RawRepresentable<String> & CaseIterable & Hashable & Sendable {
    /// Each choice once, with a weight above 0, in the order of its type.
    package let weights: [Weight]
    private let total: Double

    package struct Weight: Hashable, Sendable {
        package let choice: Choice
        package let weight: Double
    }

    private init(checked weights: [Weight]) {
        self.weights = weights
        self.total = weights.reduce(0) { $0 + $1.weight }
    }

    /// This choice every time.
    package init(only choice: Choice) {
        self.init(checked: [Weight(choice: choice, weight: 1)])
    }

    /// Reads `right=90,wrong=10`: weights, whatever their sum.
    ///
    /// - Parameter place: the option of which a problem tells.
    package init(parsing text: String, place: String) throws(PlanProblem) {
        var weights: [Choice: Double] = [:]
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let halves = part.split(separator: "=", omittingEmptySubsequences: false).map(Stages.trimmed)
            guard halves.count == 2, let weight = CountText.readNumber(halves[1]) else {
                throw PlanProblem(place: place, "`\(part)` is not NAME=WEIGHT, as `\(Self.names[0])=90`")
            }
            guard let choice = Choice(rawValue: String(halves[0])) else {
                let hint = NearestName.to(String(halves[0]), among: Self.names).map { "; did you mean `\($0)`?" }
                let known = hint ?? "; there are \(Self.names.joined(separator: ", "))"
                throw PlanProblem(place: place, "there is no `\(halves[0])`\(known)")
            }
            guard weights.updateValue(weight, forKey: choice) == nil else {
                throw PlanProblem(place: place, "`\(choice.rawValue)` stands there twice")
            }
        }
        let present = Choice.allCases.compactMap { choice in
            weights[choice].flatMap { $0 > 0 ? Weight(choice: choice, weight: $0) : nil }
        }
        guard !present.isEmpty else { throw PlanProblem(place: place, "nothing has a weight above 0") }
        self.init(checked: present)
    }

    private static var names: [String] { Choice.allCases.map(\.rawValue) }

    /// Draws one.
    package func draw(using generator: inout PlanGenerator) -> Choice {
        guard self.weights.count > 1 else { return self.weights[0].choice }
        var rest = generator.nextUnit() * self.total
        for weight in self.weights.dropLast() {
            rest -= weight.weight
            if rest < 0 { return weight.choice }
        }
        return self.weights[self.weights.count - 1].choice
    }

    package func contains(_ choice: Choice) -> Bool { self.weights.contains { $0.choice == choice } }

    /// The one choice that there is; nil where there are several.
    package var only: Choice? { self.weights.count == 1 ? self.weights[0].choice : nil }

    /// As ``init(parsing:place:)`` reads it.
    package var text: String {
        self.weights.map { "\($0.choice.rawValue)=\(CountText.write($0.weight))" }.joined(separator: ",")
    }
}
