package import LoadPlan
internal import ConfigText

/// A burst of guesses for one wallet, one of them right, again and again.
package struct BurstPlan: Hashable, Sendable {
    /// Guesses at once.
    package var size: Int
    /// Over so many connections; where there are fewer than guesses, each carries several in one flight.
    package var connections: Int
    package var repetitions = 100
    /// For a connection, and for each answer.
    package var timeout: Duration = .seconds(10)
    package var seed: UInt64 = 1

    package static let allowedSizes = 2...10_000

    /// Reads `burst:64`, or `burst:64/4` for four connections with sixteen guesses each.
    package init(parsing text: String, place: String = "--attack") throws(PlanProblem) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "burst" else {
            throw PlanProblem(place: place, "`\(text)` is no attack; `burst:64` sends 64 guesses at once")
        }
        let numbers = parts[1].split(separator: "/", omittingEmptySubsequences: false).map { CountText.readCount($0) }
        guard numbers.count <= 2, let first = numbers.first, let size = first, Self.allowedSizes.contains(size) else {
            throw PlanProblem(place: place, "`burst:` takes a number of guesses from 2 to 10k, as `burst:64`")
        }
        guard numbers.count == 1 || (1...size).contains(numbers[1] ?? 0) else {
            throw PlanProblem(
                place: place,
                "after the slash stand connections, from 1 to as many as guesses: `burst:64/4`"
            )
        }
        self.size = size
        self.connections = numbers.count == 2 ? numbers[1] ?? size : size
    }

    /// As ``init(parsing:place:)`` reads it.
    package var text: String {
        self.connections == self.size ? "burst:\(self.size)" : "burst:\(self.size)/\(self.connections)"
    }

    /// What is asked for, as reports tell it.
    package var entries: [(name: String, value: String)] {
        [
            ("attack", self.text), ("repeat", "\(self.repetitions)"), ("connections", "\(self.connections)"),
            ("timeout", DurationText.write(self.timeout)),
        ]
    }

    /// Guesses that the busiest connection carries.
    package var mostOnOneConnection: Int { (self.size + self.connections - 1) / self.connections }

    /// What an engine's context needs to know of it.
    func loadPlan() throws(PlanProblem) -> LoadPlan {
        var plan = LoadPlan(
            try Stages.constant(Double(self.connections), .connections, for: .seconds(1), place: "--attack")
        )
        plan.pick = .single(index: 0)
        plan.timeout = self.timeout
        plan.seed = self.seed
        return plan
    }
}
