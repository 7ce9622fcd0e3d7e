import HistoryChecker
import TestSupport
import Testing
import Vocabulary

@Suite("The checker against a search of all orders")
struct ExhaustiveSearchTests {
    /// Plays a history in the order of its events; returns true without a violation.
    private func isAccepted(_ operations: [ExhaustiveSearch.Operation], deaths: [Int]) -> Bool {
        var history = WalletHistory(ExhaustiveSearch.rules)
        func time(_ event: Int) -> Timestamp { Timestamp(milliseconds: 1_800_000_000_000 + Int64(event)) }
        let lastEvent = (operations.map(\.began) + operations.map { $0.ended == .max ? 0 : $0.ended } + deaths).max()
        for event in 0...(lastEvent ?? 0) {
            for (id, operation) in operations.enumerated() {
                if operation.began == event {
                    let isFirst = operation.attempt == id + 1
                    let first = isFirst ? nil : operation.attempt
                    history.invoke(id + 1, operation.operation, repeating: first, at: time(event))
                    // Lost from the beginning, which allows it the same effects as lost at the end.
                    if operation.response == nil, history.lose(id + 1, at: time(event)) != nil { return false }
                }
                if operation.ended == event, let response = operation.response,
                    history.complete(id + 1, response, at: time(event)) != nil
                {
                    return false
                }
            }
            if deaths.contains(event) { history.serverEnded(by: time(event)) }
        }
        return true
    }

    /// Changes one response, as a faulty server might.
    private func forge(_ operations: inout [ExhaustiveSearch.Operation], using random: inout SeededGenerator) {
        let answered = operations.indices.filter { operations[$0].response != nil }
        guard let index = answered.randomElement(using: &random), let other = answered.randomElement(using: &random)
        else { return }
        switch (operations[index].response, Int.random(in: 0..<4, using: &random)) {
        case (.verdict(let verdict, let place?), 0):
            let number = place.number == 0 || Bool.random(using: &random) ? place.number + 1 : place.number - 1
            operations[index].response = .verdict(verdict, VerdictPlace(number: number, isJudged: place.isJudged))
        case (.verdict(.wrong(.open(let left, let isFinal)), let place), 1):
            operations[index].response = .verdict(.wrong(.open(attemptsLeft: 3 - left, finalRound: isFinal)), place)
        case (.opened(.open(let left, let isFinal), let generation), 0...1):
            operations[index].response = .opened(
                .open(attemptsLeft: 3 - left, finalRound: isFinal),
                generation: generation
            )
        case (.opened(let state, let generation), 2):
            operations[index].response = .opened(state, generation: max(0, generation - 1))
        case (_, 3):
            let response = operations[index].response
            operations[index].response = operations[other].response
            operations[other].response = response
        default: break
        }
    }

    @Test("both accept and reject the same histories", arguments: 1...40)
    func agreement(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var (accepted, rejected) = (0, 0)
        for round in 0..<250 {
            var (operations, deaths) = ExhaustiveSearch.play(Int.random(in: 1...9, using: &random), using: &random)
            if Bool.random(using: &random) { self.forge(&operations, using: &random) }
            let expected = ExhaustiveSearch.explains(operations)
            if expected { accepted += 1 } else { rejected += 1 }
            let text = "seed \(seed), history \(round): \(operations), \(deaths)"
            #expect(self.isAccepted(operations, deaths: deaths) == expected, "\(text)")
        }
        #expect(accepted > 60 && rejected > 30, "\(accepted) accepted, \(rejected) rejected")
    }
}
