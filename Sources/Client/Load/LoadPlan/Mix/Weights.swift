/// A weighted choice.
package struct Weights<Choice>: Hashable, Sendable
where Choice: RawRepresentable<String> & CaseIterable & Hashable & Sendable {
    /// The choices with positive weights, in the order of their type and without duplicates.
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

    /// Creates weights that always yield the same choice.
    package init(only choice: Choice) {
        self.init(checked: [Weight(choice: choice, weight: 1)])
    }

    /// Parses weights such as `right=90,wrong=10`.
    ///
    /// They need not add up to 100.
    ///
    /// - Parameter place: The option name, for error messages.
    package init(parsing text: String, place: String) throws(PlanProblem) {
        var weights: [Choice: Double] = [:]
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let halves = part.split(separator: "=", omittingEmptySubsequences: false).map(Stages.trimmed)
            guard halves.count == 2, let weight = CountText.readNumber(halves[1]) else {
                throw PlanProblem(place: place, "`\(part)` is not NAME=WEIGHT, such as `\(Self.names[0])=90`")
            }
            let choice: Choice = try NameText.read(String(halves[0]), place: place)
            guard weights.updateValue(weight, forKey: choice) == nil else {
                throw PlanProblem(place: place, "`\(choice.rawValue)` is given twice")
            }
        }
        let present = Choice.allCases.compactMap { choice in
            weights[choice].flatMap { $0 > 0 ? Weight(choice: choice, weight: $0) : nil }
        }
        guard !present.isEmpty else { throw PlanProblem(place: place, "no choice has a weight above 0") }
        self.init(checked: present)
    }

    private static var names: [String] { Choice.allCases.map(\.rawValue) }

    /// Draws a choice according to the weights.
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

    /// The choice, if there is only one.
    package var only: Choice? { self.weights.count == 1 ? self.weights[0].choice : nil }

    /// The text form, as parsed by ``init(parsing:place:)``.
    package var text: String {
        self.weights.map { "\($0.choice.rawValue)=\(CountText.write($0.weight))" }.joined(separator: ",")
    }
}
