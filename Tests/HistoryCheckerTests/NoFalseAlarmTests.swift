import Testing
import HistoryChecker
import Vocabulary

@Suite("No false alarms")
struct NoFalseAlarmTests {
    static let kinds: [(name: String, kind: RandomHistory.Kind, seeds: ClosedRange<UInt64>)] = [
        ("one connection", RandomHistory.Kind(), 1...400),
        ("lost answers", RandomHistory.Kind(losses: 100), 1...50),
        ("crashes", RandomHistory.Kind(losses: 30, crashes: 30), 1...400),
        ("four connections", RandomHistory.Kind(connections: 4), 1...40),
        (
            "four connections, lost answers and crashes", RandomHistory.Kind(connections: 4, losses: 30, crashes: 10),
            1...50
        ),
        (
            "eight connections, guesses only",
            RandomHistory.Kind(connections: 8, losses: 10, crashes: 5, rightShare: 50),
            1...12
        ),
        ("a burst", RandomHistory.Kind(connections: 40, crashes: 1, changes: false, rightShare: 25), 1...8),
        ("kept between runs", RandomHistory.Kind(connections: 3, losses: 60, crashes: 10, resumes: true), 1...40),
    ]

    @Test(
        "a correct server is never accused, with lost, reordered and repeated operations",
        arguments: Self.kinds.indices
    )
    func correctServer(index: Int) async {
        let (name, kind, seeds) = Self.kinds[index]
        var forgotten = 0
        for seed in seeds {
            var random = RandomHistory(seed: seed, kind: kind)
            await random.run()
            #expect(random.violations.isEmpty, "\(name), seed \(seed)")
            forgotten += random.history.overflowCount
        }
        // Of a hundred operations at most twenty met a wallet whose state had been reset to unknown.
        #expect(forgotten * 100 <= 20 * seeds.count * kind.operations, "\(name): too much was forgotten")
    }
}
