internal import Vocabulary

extension Violation {
    /// What is wrong with an answer that none of the possibilities explains.
    init(
        _ answer: Answer,
        to sent: SentMessage,
        in window: Window,
        among possibilities: Set<Possibility>,
        _ rules: OracleRules
    ) {
        let states = possibilities.map(\.state)
        switch answer {
        case .validWithForeignShare:
            self = sent.message.isRight ? .shareOfAnotherWallet : .wrongPINCalledValid
        case .opened(let said, _):
            self =
                sent.message == .opening
                ? .impossibleOpening(said: said, possible: Self.shown(by: states, window, rules))
                : .answerToAnotherQuestion
        case .pinKeyChanged:
            self = sent.message == .opening ? .answerToAnotherQuestion : .impossiblePINKey
        case .refused: self = .refusedButCounted
        case .verdict where sent.message == .opening: self = .answerToAnotherQuestion
        case .verdict(.valid):
            self = sent.message.isRight ? Self.judged(states, window, or: .impossiblePINKey) : .wrongPINCalledValid
        case .verdict(.wrong(let said)):
            if sent.message.isRight {
                self = .rightPINCalledWrong
            } else {
                let possible = states.compactMap { state -> PINState? in
                    let judged = state.judging(sent.message, by: .entry(sent.entry), in: window, rules)
                    guard case .wrong(let next)? = judged?.verdict else { return nil }
                    return next
                }
                self = Self.judged(states, window, or: .impossibleCount(said: said, possible: Self.inOrder(possible)))
            }
        case .verdict(.blocked(let said)):
            self = states.contains { $0.block != nil } ? .impossibleBlock(said: said) : .blockWithoutCause
        case .verdict(.blockedPermanently): self = .permanentBlockWithoutCause
        }
    }

    /// A PIN was judged where none may be, or else another thing is wrong.
    private static func judged(_ states: [PossibleState], _ window: Window, or other: Violation) -> Violation {
        if states.allSatisfy(\.isPermanent) { return .judgedBeyondBound }
        let waits = states.filter { !$0.isPermanent }.map { ($0.block?.earliest ?? .min / 4) - window.until }
        guard let least = waits.min(), least > 0 else { return other }
        return .judgedDuringBlock(early: .milliseconds(least))
    }

    private static func shown(by states: [PossibleState], _ window: Window, _ rules: OracleRules) -> [PINState] {
        inOrder(
            states.map { state in
                if state.isPermanent { return .blockedPermanently }
                guard let block = state.block, block.earliest > window.until else {
                    return rules.openState(after: state.failures)
                }
                return .blocked(remaining: .milliseconds(block.latest - window.from))
            }
        )
    }

    /// Each once, in an order of its own, and not more than a line holds.
    private static func inOrder(_ states: [PINState]) -> [PINState] {
        Array(Set(states).sorted { "\($0)" < "\($1)" }.prefix(4))
    }
}
