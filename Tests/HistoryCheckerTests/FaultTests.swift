import TestSupport
import Testing
import HistoryChecker
import Vocabulary

@Suite("Every fault is seen")
struct FaultTests {
    /// Each fault makes a difference under it.
    static let policy = AttemptPolicy(
        rounds: 4,
        attemptsPerRound: 3,
        blocks: [.milliseconds(300), .milliseconds(600)]
    )

    private func seen(_ fault: Fault, _ kind: Journey.Kind, seeds: ClosedRange<UInt64>) async -> (seen: Int, wrong: Int)
    {
        var (seen, wrong) = (0, 0)
        for seed in seeds {
            var journey = Journey(seed: seed, kind: kind, policy: Self.policy, fault: fault)
            await journey.live()
            if journey.timesWrong > 0 { wrong += 1 }
            if !journey.violations.isEmpty { seen += 1 }
        }
        return (seen, wrong)
    }

    /// Those that need company on the way to the server to be faults at all.
    static let alone = Fault.allCases.filter { $0 != .burstGivesGuesses }

    @Test(
        "in most lives in which it makes a difference, over one connection with crashes between answers and repeated entries",
        arguments: Self.alone
    )
    func sequential(fault: Fault) async {
        let kind = Journey.Kind(crashes: 60, changeShare: 100, rightOnes: 150, messages: 300)
        let (seen, wrong) = await self.seen(fault, kind, seeds: 1...40)
        #expect(wrong >= 3)
        #expect(seen * 10 >= wrong * 8, "seen in \(seen) of \(wrong) lives in which it made a difference")
    }

    @Test("now and then over four connections with lost answers and crashes", arguments: Fault.allCases)
    func parallel(fault: Fault) async {
        let kind = Journey.Kind(
            connections: 4,
            losses: 10,
            crashes: 15,
            changeShare: 100,
            rightOnes: 150,
            messages: 300
        )
        let (seen, wrong) = await self.seen(fault, kind, seeds: 1...16)
        #expect(seen >= 1, "seen in \(seen) of \(wrong) lives in which it made a difference")
    }
}
