internal import HistoryChecker
internal import Vocabulary

/// A promise from docs/protocol.md that a run verifies.
enum ServerPromise: String, CaseIterable {
    case noFreeGuess = "No guess is free: every verdict told is counted, and no PIN is judged in a block"
    case rightPINCostsNothing = "After a right PIN no attempt remains counted, and no wallet is blocked without cause"
    case changesSurvive = "No acknowledged change of a PIN is lost, and two PINs never work at a time"
    case revocationHolds = "No verdict, share or session after an acknowledged revocation"
    case answersFit = "Every answer belongs to its request and its receipt"

    /// Finds the promise broken by a violation.
    init(brokenBy violation: HistoryViolation) {
        switch violation {
        case .impossibleCount(let said, let possible), .impossibleOpening(let said, let possible):
            // If fewer attempts are left than possible, the owner lost a guess. If more are left, the server gave one
            // away.
            let fewest = possible.map(\.attemptsLeft).min() ?? 0
            self = said.attemptsLeft < fewest ? .rightPINCostsNothing : .noFreeGuess
        case .judgedDuringBlock, .judgedBeyondBound, .impossibleNumber, .unexplainedAttempt, .olderEpoch,
            .missingReceipt, .wrongPINCalledValid:
            self = .noFreeGuess
        case .rightPINCalledWrong, .blockWithoutCause, .permanentBlockWithoutCause, .impossibleBlock:
            self = .rightPINCostsNothing
        case .impossiblePINKey: self = .changesSurvive
        case .answeredAfterRevocation: self = .revocationHolds
        case .shareOfAnotherWallet, .receiptContradictsVerdict, .answerToAnotherQuestion: self = .answersFit
        }
    }
}

extension PINState {
    /// The attempts left in the round, or 0 during a block.
    fileprivate var attemptsLeft: Int {
        if case .open(let left, _) = self { left } else { 0 }
    }
}
