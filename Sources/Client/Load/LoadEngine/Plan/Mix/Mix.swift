internal import ConfigText

/// A kind of operation that a run performs on the server.
package enum Action: String, Hashable, Sendable, CaseIterable {
    case right, wrong
    case changePIN = "change-pin"
    case register
}

/// The relative frequencies of the actions.
package typealias Mix = Weights<Action>

extension Mix {
    /// Parses weights such as `right=90,wrong=10,change-pin=1,register=0.5`.
    package init(parsing text: String) throws(PlanProblem) {
        try self.init(parsing: text, place: "--mix")
    }
}

/// The connection used for a check.
package enum ConnectionUse: String, Hashable, Sendable, CaseIterable {
    /// The connection and session of the previous check, if still open.
    case warm
    /// A new connection with a full handshake and a new session, as for an unlock.
    case new
    /// A new connection and session, using TLS resumption with the ticket from an earlier such connection.
    case resumed
}

extension Weights<ConnectionUse> {
    /// Parses a single use such as `warm`, or weights such as `warm=90,new=10`.
    package init(parsingUse text: String, place: String = "--connection") throws(PlanProblem) {
        guard text.contains("=") || text.contains(",") else {
            self.init(only: try NameText.read(text, place: place))
            return
        }
        try self.init(parsing: text, place: place)
    }

    /// The text form, as parsed by ``init(parsingUse:place:)``.
    package var useText: String { self.only?.rawValue ?? self.text }
}

/// In a closed loop, the pause on a connection between a reply and the next check.
package struct ThinkTime: Hashable, Sendable {
    package let shortest: Duration
    package let longest: Duration

    package static let none = ThinkTime(shortest: .zero, longest: .zero)

    private init(shortest: Duration, longest: Duration) {
        self.shortest = shortest
        self.longest = longest
    }

    /// Parses `200ms`, or `200ms..1s` for a uniform distribution.
    package init(parsing text: String, place: String = "--think") throws(PlanProblem) {
        let parts = text.components(separatedBy: "..")
        let times = parts.compactMap(DurationText.read)
        guard times.count == parts.count, (1...2).contains(times.count), let first = times.first, let last = times.last
        else { throw PlanProblem(place: place, "`\(text)` is not a duration, `200ms`, or a range, `200ms..1s`") }
        guard first <= last else { throw PlanProblem(place: place, "the range `\(text)` ends before it begins") }
        self.init(shortest: first, longest: last)
    }

    /// Draws a pause, which may be zero.
    package func draw(using generator: inout PlanGenerator) -> Duration {
        guard self.shortest < self.longest else { return self.shortest }
        return self.shortest + (self.longest - self.shortest) * generator.nextUnit()
    }

    /// The text form, as parsed by ``init(parsing:place:)``.
    package var text: String {
        let shortest = DurationText.write(self.shortest)
        return self.shortest == self.longest ? shortest : "\(shortest)..\(DurationText.write(self.longest))"
    }
}

extension String {
    func components(separatedBy separator: String) -> [String] {
        self.split(separator: separator, omittingEmptySubsequences: false).map(String.init)
    }
}

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
    package init(only choice: Choice) { self.init(checked: [Weight(choice: choice, weight: 1)]) }

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

    package var only: Choice? { self.weights.count == 1 ? self.weights[0].choice : nil }

    /// The text form, as parsed by ``init(parsing:place:)``.
    package var text: String {
        self.weights.map { "\($0.choice.rawValue)=\(CountText.write($0.weight))" }.joined(separator: ",")
    }
}
