/// PF2.8/2–4 and 6–8: the prompt shown after a wrong PIN that does not result in a block.
///
/// The founding document numbers these prompts for rounds of four attempts. This type generalizes them. A separate
/// prompt follows the second-to-last attempt, and another follows the first attempt unless it is also the
/// second-to-last. All attempts in between share a prompt that states the number of attempts left.
enum WrongPINPrompt: Hashable {
    case first
    case between
    case oneLeft
    case finalFirst
    case finalBetween
    case finalOneLeft

    init(attemptsLeft: Int, ofAttempts attempts: Int, finalRound: Bool) {
        switch (attemptsLeft, finalRound) {
        case (1, false): self = .oneLeft
        case (1, true): self = .finalOneLeft
        case (attempts - 1, false): self = .first
        case (attempts - 1, true): self = .finalFirst
        case (_, false): self = .between
        case (_, true): self = .finalBetween
        }
    }

    /// The corresponding case of PF2.8/1.1.
    var decision: StepID {
        switch self {
        case .first: "PF2.8/1.1d"
        case .between: "PF2.8/1.1e"
        case .oneLeft: "PF2.8/1.1f"
        case .finalFirst: "PF2.8/1.1h"
        case .finalBetween: "PF2.8/1.1i"
        case .finalOneLeft: "PF2.8/1.1j"
        }
    }

    /// Returns the prompt with its message.
    ///
    /// If no block follows this round, the next round begins at once, so the end of the round is not announced.
    func dialog(attemptsLeft: Int, blockFollows: Bool) -> Dialog {
        let dialog =
            switch self {
            case .first:
                Self.dialog("PF2.8/2.1", .wrongPIN, close: "PF2.8/2.1a", forgot: "PF2.8/2.1b")
            case .between:
                Self.dialog(
                    "PF2.8/3.1",
                    blockFollows ? .wrongPINLeft(attemptsLeft) : .wrongPIN,
                    close: "PF2.8/3.1a",
                    forgot: "PF2.8/3.1b"
                )
            case .oneLeft:
                Self.dialog(
                    "PF2.8/4.1",
                    blockFollows ? .wrongPINBlockNext : .wrongPIN,
                    close: "PF2.8/4.1a",
                    forgot: "PF2.8/4.1b"
                )
            case .finalFirst:
                Self.dialog("PF2.8/6.1", .wrongPINFinal(attemptsLeft), close: "PF2.8/6.1a", forgot: "PF2.8/6.1b")
            case .finalBetween:
                Self.dialog("PF2.8/7.1", .wrongPINFinal(attemptsLeft), close: "PF2.8/7.1a", forgot: "PF2.8/7.1b")
            case .finalOneLeft:
                Self.dialog("PF2.8/8.1", .wrongPINFinal(attemptsLeft), close: "PF2.8/8.1a", forgot: "PF2.8/8.1b")
            }
        return dialog.with(.attemptsLeft(attemptsLeft), .finalRound(self.isFinal)).because(.wrongPIN)
    }

    private var isFinal: Bool {
        switch self {
        case .first, .between, .oneLeft: false
        case .finalFirst, .finalBetween, .finalOneLeft: true
        }
    }

    private static func dialog(_ step: StepID, _ message: Text, close: StepID, forgot: StepID) -> Dialog {
        Dialog(step, .prompt, .wrongPINRetry, message)
            .offering(.close, close, .finish(.retry))
            .offering(.forgotPIN, forgot, .call(ForgotPIN()))
    }
}
