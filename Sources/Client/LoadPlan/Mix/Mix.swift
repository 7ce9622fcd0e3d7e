internal import Spelling

/// One thing that a run asks of the server.
public enum Action: String, Hashable, Sendable, CaseIterable {
    case right
    case wrong
    case changePIN = "change-pin"
    case register
}

/// How often each action is asked for, among all of them.
public struct Mix: Hashable, Sendable {
    /// Each action once, with a weight above 0, in the order of ``Action``.
    public let weights: [Weight]
    private let total: Double

    public struct Weight: Hashable, Sendable {
        public let action: Action
        public let weight: Double
    }

    public static let rightOnly = Mix(checked: [Weight(action: .right, weight: 1)])

    private init(checked weights: [Weight]) {
        self.weights = weights
        self.total = weights.reduce(0) { $0 + $1.weight }
    }

    /// Reads `right=90,wrong=10,change-pin=1,register=0.5`: weights, whatever their sum.
    public init(parsing text: String, place: String = "--mix") throws(PlanProblem) {
        var weights: [Action: Double] = [:]
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let halves = part.split(separator: "=", omittingEmptySubsequences: false).map(Stages.trimmed)
            guard halves.count == 2, let weight = CountText.readNumber(halves[1]) else {
                throw PlanProblem(place: place, "`\(part)` is not NAME=WEIGHT, as `right=90`")
            }
            guard let action = Action(rawValue: String(halves[0])) else {
                let names = Action.allCases.map(\.rawValue)
                let hint = NearestName.to(String(halves[0]), among: names).map { "; did you mean `\($0)`?" }
                let known = hint ?? "; there are \(names.joined(separator: ", "))"
                throw PlanProblem(place: place, "there is no `\(halves[0])`\(known)")
            }
            guard weights.updateValue(weight, forKey: action) == nil else {
                throw PlanProblem(place: place, "`\(action.rawValue)` stands there twice")
            }
        }
        let present = Action.allCases.compactMap { action in
            weights[action].flatMap { $0 > 0 ? Weight(action: action, weight: $0) : nil }
        }
        guard !present.isEmpty else { throw PlanProblem(place: place, "nothing has a weight above 0") }
        self.init(checked: present)
    }

    /// Draws one action.
    public func draw(using generator: inout PlanGenerator) -> Action {
        guard self.weights.count > 1 else { return self.weights[0].action }
        var rest = generator.nextUnit() * self.total
        for weight in self.weights.dropLast() {
            rest -= weight.weight
            if rest < 0 { return weight.action }
        }
        return self.weights[self.weights.count - 1].action
    }

    public func contains(_ action: Action) -> Bool { self.weights.contains { $0.action == action } }

    /// As ``init(parsing:place:)`` reads it.
    public var text: String {
        self.weights.map { "\($0.action.rawValue)=\(CountText.write($0.weight))" }.joined(separator: ",")
    }
}
