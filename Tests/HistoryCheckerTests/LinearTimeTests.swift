import HistoryChecker
import Testing
import Vocabulary

@Suite("The time of the history checker")
struct LinearTimeTests {
    /// Returns the number of visits for four connections of one wallet, with lost answers and crashes.
    ///
    /// Most PINs are right, so the wallet is never blocked permanently.
    private func visits(in operations: Int) async throws -> Double {
        let policy = try #require(AttemptPolicy(rounds: 4, attemptsPerRound: 5, blocks: [.milliseconds(7)]))
        let kind = RandomHistory.Kind(connections: 4, losses: 2, crashes: 1, rightShare: 900, operations: operations)
        var random = RandomHistory(seed: 1, kind: kind, policy: policy)
        await random.run()
        #expect(random.violations.isEmpty)
        return Double(random.history.visitCount)
    }

    @Test("a history that is ten times as long takes ten times as many visits, up to 100,000 operations")
    func proportionalToLength() async throws {
        let (short, middle) = try await (self.visits(in: 1_000), self.visits(in: 10_000))
        // A search through all earlier answers would take a hundred times as many.
        try #require((7...14).contains(middle / short), "\(middle) visits, \(short) for a tenth of the operations")
        let long = try await self.visits(in: 100_000)
        #expect((7...14).contains(long / middle), "\(long) visits, \(middle) for a tenth of the operations")
    }
}
