package import Vocabulary

/// A response that a server keeping the promises in docs/protocol.md would not send.
///
/// The checker has taken lost, interrupted and reordered messages into account, and has found no order of the
/// operations in which the response would be correct. ``description`` explains each case.
package enum HistoryViolation: Error, Hashable, Sendable {
    case rightPINCalledWrong, wrongPINCalledValid, shareOfAnotherWallet
    case judgedDuringBlock(early: Duration)
    case judgedBeyondBound
    case impossibleCount(said: PINState, possible: [PINState])
    case blockWithoutCause, permanentBlockWithoutCause
    case impossibleBlock(said: Duration)
    case impossibleOpening(said: PINState, possible: [PINState])
    case impossiblePINKey, missingReceipt, receiptContradictsVerdict
    case impossibleNumber(UInt64)
    case unexplainedAttempt(number: UInt64)
    case olderEpoch, answeredAfterRevocation, answerToAnotherQuestion
}

extension HistoryViolation: CustomStringConvertible {
    package var description: String {
        switch self {
        case .rightPINCalledWrong: "the right PIN was called wrong"
        case .wrongPINCalledValid: "a wrong PIN was called valid"
        case .shareOfAnotherWallet: "the response to a right PIN carried a share that is not this wallet's"
        case .judgedDuringBlock(let early):
            "a PIN was judged during a block, at least \(early.milliseconds) ms before its end"
        case .judgedBeyondBound: "a PIN was judged although the wallet is blocked permanently"
        case .impossibleCount(let said, let possible):
            "a verdict reported \(said.text); possible: \(Self.text(possible))"
        case .blockWithoutCause: "a wallet was reported as blocked although it is not in a block"
        case .permanentBlockWithoutCause: "a wallet was reported as permanently blocked although it is not"
        case .impossibleBlock(let said):
            "a block was reported to last \(said.milliseconds) ms more, which does not match its end"
        case .impossibleOpening(let said, let possible):
            "a session reported \(said.text); possible: \(Self.text(possible))"
        case .impossiblePINKey: "the reported PIN key was not put in force by any change"
        case .missingReceipt: "a verdict has no receipt"
        case .receiptContradictsVerdict: "a receipt does not fit its verdict"
        case .impossibleNumber(let number):
            "a receipt has the number \(number), which was given before or is out of order in time"
        case .unexplainedAttempt(let number):
            "the server counted attempt number \(number), which no request of this wallet explains"
        case .olderEpoch: "a receipt is from an epoch that had ended"
        case .answeredAfterRevocation: "a revoked wallet got a verdict or a session"
        case .answerToAnotherQuestion: "a response does not belong to its request"
        }
    }

    /// A name for tables and counts.
    ///
    /// It does not contain any numbers.
    package var name: String {
        switch self {
        case .rightPINCalledWrong: "right-pin-called-wrong"
        case .wrongPINCalledValid: "wrong-pin-called-valid"
        case .shareOfAnotherWallet: "share-of-another-wallet"
        case .judgedDuringBlock: "judged-during-block"
        case .judgedBeyondBound: "judged-beyond-bound"
        case .impossibleCount: "impossible-count"
        case .blockWithoutCause: "block-without-cause"
        case .permanentBlockWithoutCause: "permanent-block-without-cause"
        case .impossibleBlock: "impossible-block"
        case .impossibleOpening: "impossible-opening"
        case .impossiblePINKey: "impossible-pin-key"
        case .missingReceipt: "missing-receipt"
        case .receiptContradictsVerdict: "receipt-contradicts-verdict"
        case .impossibleNumber: "impossible-number"
        case .unexplainedAttempt: "unexplained-attempt"
        case .olderEpoch: "older-epoch"
        case .answeredAfterRevocation: "answered-after-revocation"
        case .answerToAnotherQuestion: "answer-to-another-question"
        }
    }

    private static func text(_ states: [PINState]) -> String {
        states.isEmpty ? "another state" : states.map(\.text).joined(separator: " or ")
    }
}

extension PINState {
    /// A description for reports.
    package var text: String {
        switch self {
        case .open(let left, let isFinal): "\(left) attempts left\(isFinal ? " in the final round" : "")"
        case .blocked(let remaining): "blocked for \(remaining.milliseconds) ms"
        case .blockedPermanently: "blocked permanently"
        }
    }
}

extension WalletHistory {
    /// Classifies a response that no order can explain.
    func violation(by sent: SentOperation) -> HistoryViolation {
        HistoryViolation(sent, among: self.linearizations, self.rules)
    }
}

extension HistoryViolation {
    fileprivate init(_ sent: SentOperation, among linearizations: [Linearization], _ rules: CheckerRules) {
        let (isOpening, window, states) = (sent.operation == .opening, sent.window(), linearizations.map(\.state))
        switch sent.response {
        case .validWithForeignShare?:
            self = sent.operation.isRight ? .shareOfAnotherWallet : .wrongPINCalledValid
        case .opened(let said, _)?:
            self =
                isOpening
                ? .impossibleOpening(said: said, possible: Self.shown(by: states, window, rules))
                : .answerToAnotherQuestion
        case .pinKeyChanged?: self = isOpening ? .answerToAnotherQuestion : .impossiblePINKey
        case .refused?, .revoked?, nil: self = .answerToAnotherQuestion
        case .verdict? where isOpening: self = .answerToAnotherQuestion
        case .verdict(_, nil)?: self = .missingReceipt
        case .verdict(let verdict, let place?)?:
            self = Self.verdict(verdict, place, to: sent, in: window, linearizations, rules)
        }
    }

    private static func verdict(
        _ verdict: PINVerdict,
        _ place: VerdictPlace,
        to sent: SentOperation,
        in window: Window,
        _ linearizations: [Linearization],
        _ rules: CheckerRules
    ) -> HistoryViolation {
        let states = linearizations.map(\.state)
        // The number is too high: in every possible history, attempts with lower numbers are still missing.
        let isEarly = linearizations.allSatisfy { linearization in
            linearization.number.map { $0 + (place.isJudged ? 1 : 0) < place.number } ?? false
        }
        switch verdict {
        case .valid where !sent.operation.isRight: return .wrongPINCalledValid
        case .wrong where sent.operation.isRight && !sent.isRepeated: return .rightPINCalledWrong
        case .valid where !place.isJudged, .blocked where place.isJudged, .blockedPermanently where place.isJudged,
            .wrong where !place.isJudged && !sent.isRepeated:
            return .receiptContradictsVerdict
        case _ where isEarly: return .impossibleNumber(place.number)
        case .valid: return self.judged(states, window, or: .impossiblePINKey)
        case .wrong where sent.operation.isRight && place.isJudged: return .rightPINCalledWrong
        case .wrong(let said):
            let possible = states.compactMap { state -> PINState? in
                let judged = state.judging(sent.operation, by: sent.attempt, in: window, rules)
                guard case .wrong(let next)? = judged?.verdict else { return nil }
                return next
            }
            return self.judged(states, window, or: .impossibleCount(said: said, possible: self.distinct(possible)))
        case .blocked(let said):
            return states.contains { $0.block != nil } ? .impossibleBlock(said: said) : .blockWithoutCause
        case .blockedPermanently: return .permanentBlockWithoutCause
        }
    }

    /// Returns the violation for a PIN that was judged although no state allows it.
    ///
    /// If some state does, returns `other`.
    private static func judged(
        _ states: [ModelState],
        _ window: Window,
        or other: HistoryViolation
    ) -> HistoryViolation {
        if states.allSatisfy(\.isPermanent) { return .judgedBeyondBound }
        let waits = states.filter { !$0.isPermanent }.map { ($0.block?.earliest ?? .min / 4) - window.until }
        guard let least = waits.min(), least > 0 else { return other }
        return .judgedDuringBlock(early: .milliseconds(least))
    }

    private static func shown(by states: [ModelState], _ window: Window, _ rules: CheckerRules) -> [PINState] {
        self.distinct(
            states.map { state in
                if state.isPermanent { return .blockedPermanently }
                guard let block = state.block, block.earliest > window.until else {
                    return rules.openState(after: state.failures)
                }
                return .blocked(remaining: .milliseconds(block.latest - window.from))
            }
        )
    }

    /// Returns the distinct states in a stable order, shortened to one line.
    private static func distinct(_ states: [PINState]) -> [PINState] {
        Array(Set(states).sorted { "\($0)" < "\($1)" }.prefix(4))
    }
}
