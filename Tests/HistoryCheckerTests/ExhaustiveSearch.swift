import HistoryChecker
import Vocabulary

/// The definition of the checker's verdict: tries every order of a small history's operations.
///
/// The policy has no blocks, so times play no role.
struct ExhaustiveSearch {
    static let rules = CheckerRules(
        policy: AttemptPolicy(rounds: 2, attemptsPerRound: 2, blocks: []) ?? .standard
    )

    struct Operation {
        let operation: WalletOperation
        let attempt: Int
        /// The numbers of the events at which it was sent and answered, or after which it cannot take effect.
        let began: Int
        var ended = Int.max
        /// Nil if it was lost.
        var response: WalletResponse?
    }

    private struct State {
        var failures = 0
        var generation = 0
        var last: Int?
        var number: UInt64 = 0

        /// The response of a correct server.
        mutating func respond(to sent: Operation) -> WalletResponse {
            let rules = ExhaustiveSearch.rules.policy
            var shown: PINState {
                if self.failures == rules.allowance { return .blockedPermanently }
                let left = rules.attemptsPerRound - self.failures % rules.attemptsPerRound
                return .open(attemptsLeft: left, finalRound: self.failures >= rules.allowance - rules.attemptsPerRound)
            }
            let (isRight, named, next): (Bool, Int, Int)
            switch sent.operation {
            case .opening: return .opened(shown, generation: self.generation)
            case .check(let right, let generation): (isRight, named, next) = (right, generation, generation)
            case .change(let right, let generation, let to): (isRight, named, next) = (right, generation, to)
            }
            guard named == self.generation else { return .pinKeyChanged(current: self.generation) }
            let unjudged = VerdictPlace(number: self.number, isJudged: false)
            if self.failures == rules.allowance { return .verdict(.blockedPermanently, unjudged) }
            if self.last == sent.attempt { return .verdict(.wrong(shown), unjudged) }
            self.number += 1
            let place = VerdictPlace(number: self.number)
            if isRight {
                (self.failures, self.last, self.generation) = (0, nil, next)
                return .verdict(.valid, place)
            }
            (self.failures, self.last) = (self.failures + 1, sent.attempt)
            return .verdict(.wrong(shown), place)
        }
    }

    /// Returns true if some order explains every response.
    static func explains(_ operations: [Operation]) -> Bool { self.explains(operations, from: State()) }

    private static func explains(_ rest: [Operation], from state: State) -> Bool {
        if rest.allSatisfy({ $0.response == nil }) { return true }
        for (index, operation) in rest.enumerated() {
            let others = rest[..<index] + rest[(index + 1)...]
            // All operations that ended before this one began come before it; a lost one may have had no effect.
            let left = others.filter { $0.response != nil || $0.ended > operation.began }
            guard left.allSatisfy({ $0.ended > operation.began }) else { continue }
            var next = state
            let response = next.respond(to: operation)
            guard operation.response == nil || operation.response == response else { continue }
            if self.explains(Array(left), from: next) { return true }
        }
        return false
    }

    /// Answers a random history as a correct server does.
    static func play<Generator: RandomNumberGenerator>(
        _ count: Int,
        using random: inout Generator
    ) -> (operations: [Operation], deaths: [Int]) {
        var (state, operations, pending, deaths): (State, [Operation], [Int], [Int]) = (State(), [], [], [])
        var answers: [Int: WalletResponse] = [:]
        var event = 0
        while operations.count < count || !pending.isEmpty {
            event += 1
            let choice = Int.random(in: 0..<20, using: &random)
            if operations.count < count, pending.isEmpty || choice < 7, pending.count < 4 {
                let repeated = choice < 2 ? operations.indices.randomElement(using: &random) : nil
                operations.append(
                    Operation(
                        operation: self.operation(state.generation, using: &random),
                        attempt: repeated.map { operations[$0].attempt } ?? operations.count + 1,
                        began: event
                    )
                )
                pending.append(operations.count - 1)
            } else if choice == 19, !pending.isEmpty {
                // The server ends: no operation without a response takes effect later.
                for index in operations.indices where operations[index].response == nil {
                    operations[index].ended = min(operations[index].ended, event)
                }
                deaths.append(event)
                pending = []
            } else if let place = pending.indices.randomElement(using: &random) {
                let index = pending[place]
                if choice >= 16 {
                    pending.remove(at: place)
                } else if let answer = answers[index] {
                    (operations[index].response, operations[index].ended) = (answer, event)
                    pending.remove(at: place)
                } else {
                    answers[index] = state.respond(to: operations[index])
                }
            }
        }
        return (operations, deaths)
    }

    private static func operation<Generator: RandomNumberGenerator>(
        _ generation: Int,
        using random: inout Generator
    ) -> WalletOperation {
        switch Int.random(in: 0..<16, using: &random) {
        case 0: .change(isRight: true, generation: generation, to: generation + 1)
        case 1: .check(isRight: true, generation: max(0, generation - 1))
        case 2, 12...15: .opening
        case 3...5: .check(isRight: true, generation: generation)
        default: .check(isRight: false, generation: generation)
        }
    }
}
