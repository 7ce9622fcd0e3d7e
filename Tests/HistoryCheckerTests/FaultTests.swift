import Testing
import Vocabulary

@Suite("Detection of faults")
struct FaultTests {
    /// A policy under which each fault makes a difference.
    static let policy = AttemptPolicy(
        rounds: 4,
        attemptsPerRound: 3,
        blocks: [.milliseconds(300), .milliseconds(600)]
    )

    private func seen(_ fault: ModelFault, _ kind: RandomHistory.Kind, seeds: ClosedRange<UInt64>) async -> (
        seen: Int, wrong: Int
    ) {
        var (seen, wrong) = (0, 0)
        for seed in seeds {
            var random = RandomHistory(seed: seed, kind: kind, policy: Self.policy, fault: fault)
            await random.run()
            if random.faultCount > 0 { wrong += 1 }
            if !random.violations.isEmpty { seen += 1 }
        }
        return (seen, wrong)
    }

    /// The faults that do not need concurrent operations.
    static let alone = ModelFault.allCases.filter { $0 != .burstGivesGuesses }

    @Test(
        "a fault is detected in most sequential runs in which it matters, with crashes and repeated attempts",
        arguments: Self.alone
    )
    func sequential(fault: ModelFault) async {
        let kind = RandomHistory.Kind(crashes: 60, changeShare: 100, rightShare: 150, operations: 300)
        let (seen, wrong) = await self.seen(fault, kind, seeds: 1...40)
        #expect(wrong >= 3)
        #expect(seen * 10 >= wrong * 8, "seen in \(seen) of \(wrong) lives in which it made a difference")
    }

    @Test("a fault is detected over four connections with lost responses and crashes", arguments: ModelFault.allCases)
    func parallel(fault: ModelFault) async {
        let kind = RandomHistory.Kind(
            connections: 4,
            losses: 10,
            crashes: 15,
            changeShare: 100,
            rightShare: 150,
            operations: 300
        )
        let (seen, wrong) = await self.seen(fault, kind, seeds: 1...16)
        #expect(seen >= 1, "seen in \(seen) of \(wrong) lives in which it made a difference")
    }
}
