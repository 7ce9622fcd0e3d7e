import TestSupport
import Testing
import HistoryChecker
import Vocabulary

@Suite("A server that keeps the rules is never accused")
struct NoFalseAlarmTests {
    static let kinds: [(name: String, kind: Journey.Kind, seeds: ClosedRange<UInt64>)] = [
        ("one connection", Journey.Kind(), 1...400),
        ("lost answers", Journey.Kind(losses: 100), 1...50),
        ("crashes", Journey.Kind(losses: 30, crashes: 30), 1...400),
        ("four connections", Journey.Kind(connections: 4), 1...40),
        ("four connections, lost answers and crashes", Journey.Kind(connections: 4, losses: 30, crashes: 10), 1...50),
        (
            "eight connections, guesses only", Journey.Kind(connections: 8, losses: 10, crashes: 5, rightOnes: 50),
            1...12
        ),
        ("a burst", Journey.Kind(connections: 40, crashes: 1, changes: false, rightOnes: 25), 1...8),
        ("kept between runs", Journey.Kind(connections: 3, losses: 60, crashes: 10, isKept: true), 1...40),
    ]

    @Test("whatever is lost, overtaken, cut short or repeated", arguments: Self.kinds.indices)
    func lives(index: Int) async {
        let (name, kind, seeds) = Self.kinds[index]
        var forgotten = 0
        for seed in seeds {
            var journey = Journey(seed: seed, kind: kind)
            await journey.live()
            #expect(journey.violations.isEmpty, "\(name), seed \(seed)")
            forgotten += journey.history.overflowCount
        }
        // Of a hundred messages at most twenty met a wallet of which everything had to be taken for possible.
        #expect(forgotten * 100 <= 20 * seeds.count * kind.messages, "\(name): too much was forgotten")
    }
}
