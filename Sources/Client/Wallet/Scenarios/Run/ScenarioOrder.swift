/// Determines the order in which scenarios run, and how often.
package enum ScenarioOrder {
    /// Returns all scenarios `count` times, one complete round after the other.
    package static func repeated(_ scenarios: [Scenario], _ count: Int) -> [Scenario] {
        (1...max(1, count)).flatMap { number in
            scenarios.map { scenario in
                var scenario = scenario
                if count > 1 { scenario.repetition = number }
                return scenario
            }
        }
    }

    /// Returns every `count`-th scenario, starting with the `number`-th.
    ///
    /// Each scenario is in exactly one of the `count` shards, and the same scenarios give the same shards.
    ///
    /// - Parameter number: The shard, in `1...count`.
    package static func shard(_ number: Int, of count: Int, _ scenarios: [Scenario]) -> [Scenario] {
        stride(from: number - 1, to: scenarios.count, by: count).map { scenarios[$0] }
    }

    /// Shuffles the scenarios.
    ///
    /// The same seed always gives the same order.
    package static func shuffled(_ scenarios: [Scenario], seed: UInt64) -> [Scenario] {
        var generator = SplitMix64(state: seed)
        return scenarios.shuffled(using: &generator)
    }

    private struct SplitMix64: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            self.state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = self.state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }
}
