internal import ConfigText
package import LoadPlan

/// The plan for an attack with bursts of guesses for one wallet, one of them right.
package struct BurstPlan: Hashable, Sendable {
    /// The number of guesses per burst.
    package var size: Int
    /// The number of connections per burst.
    ///
    /// If there are fewer connections than guesses, each connection carries several guesses in a single flight.
    package var connections: Int
    package var repetitions = 100
    /// The timeout for connecting and for each response.
    package var timeout: Duration = .seconds(10)
    package var seed: UInt64 = 1

    package static let allowedSizes = 2...10_000

    /// Parses `burst:64`, or `burst:64/4` for four connections with sixteen guesses each.
    package init(parsing text: String, place: String = "--attack") throws(PlanProblem) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "burst" else {
            throw PlanProblem(place: place, "`\(text)` is not an attack; `burst:64` sends 64 guesses at once")
        }
        let numbers = parts[1].split(separator: "/", omittingEmptySubsequences: false).map { CountText.readCount($0) }
        guard numbers.count <= 2, let first = numbers.first, let size = first, Self.allowedSizes.contains(size) else {
            throw PlanProblem(place: place, "`burst:` takes a number of guesses from 2 to 10k, as in `burst:64`")
        }
        guard numbers.count == 1 || (1...size).contains(numbers[1] ?? 0) else {
            throw PlanProblem(
                place: place,
                "the slash is followed by the number of connections, from 1 to the number of guesses: `burst:64/4`"
            )
        }
        self.size = size
        self.connections = numbers.count == 2 ? numbers[1] ?? size : size
    }

    /// The text form, as parsed by ``init(parsing:place:)``.
    package var text: String {
        self.connections == self.size ? "burst:\(self.size)" : "burst:\(self.size)/\(self.connections)"
    }

    /// The plan entries shown in a report.
    package var entries: [(name: String, value: String)] {
        [
            ("attack", self.text), ("repeat", "\(self.repetitions)"), ("connections", "\(self.connections)"),
            ("timeout", DurationText.write(self.timeout)),
        ]
    }

    /// The largest number of guesses on one connection.
    package var mostOnOneConnection: Int { (self.size + self.connections - 1) / self.connections }

    /// Returns the plan for the engine's context.
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
