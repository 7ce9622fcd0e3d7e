internal import Vocabulary

/// PF2.8 Validate PIN: shows the server's verdict on a PIN entry.
///
/// This flow does not make any decision itself.
///
///     asking ──valid──▶ confirmed
///      ▲  ├──wrong──▶ prompt (2–4, 6–8) ──Close──▶ retry
///      │  ├──blocked──▶ blocked (5) ──timer──▶ retry · ──Back──▶ back · ──resume──▶ asked again
///      │  ├──blocked permanently──▶ BlockedPermanently (9)
///      │  └──error──▶ failed ──Close──▶ retry
///      └──Try again──────┘
///
/// After an error, we keep the entry along with its attempt id, so that trying again after a lost reply counts as the
/// same attempt.
struct ValidatePIN: Flow {
    enum State {
        case asking(PINEntry)
        case showing(PINVerdict)
        case failed(PINEntry)
        /// The app came back to a block, which ended at this uptime when the server was last asked.
        case askingAgain(Duration)
    }

    var state: State

    init(_ entry: PINEntry) { self.state = .asking(entry) }

    /// Shows the verdict on an instruction other than CheckPIN.
    init(showing verdict: PINVerdict) { self.state = .showing(verdict) }

    /// Whether the entry is kept for another try.
    var keepsPIN: Bool {
        switch self.state {
        case .failed: true
        case .asking, .showing, .askingAgain: false
        }
    }

    func enter(_ snapshot: Snapshot) -> Transition {
        switch self.state {
        case .asking(let entry): .ask(.checkPIN(entry))
        case .showing(let verdict): self.show(verdict, snapshot)
        case .askingAgain: .ask(.askPINState)
        case .failed: .ignored
        }
    }

    func handle(_ event: FlowEvent, _ snapshot: Snapshot) -> Transition {
        switch (self.state, event) {
        case (.asking(let entry), .answered(.verdict(.valid))): .finish(.confirmed(entry), after: "PF2.8/1.1a")
        case (.asking, .answered(.verdict(let verdict))): self.to(.showing(verdict))
        case (.asking(let entry), .answered(.failed(let failure))): self.to(.failed(entry), .call(Self.error(failure)))
        case (.showing, .returned(.back)): .finish(.back(whileBlocked: false))
        case (.askingAgain, .answered(.pinState(.open))): .finish(.retry, after: "PF2.8/5.1e")
        case (.askingAgain, .answered(.pinState(.blocked(let remaining)))):
            self.to(.showing(.blocked(remaining: remaining)))
        case (.askingAgain, .answered(.pinState(.blockedPermanently))): .goTo(BlockedPermanently(), after: "PF2.8/1.1c")
        case (.askingAgain, .answered(.failed(.revoked(let revocation)))): RevokedWallet.transition(to: revocation)
        case (.askingAgain(let end), .answered(.failed)):
            self.to(.showing(.blocked(remaining: end - snapshot.uptime)))
        case (.failed(let entry), .returned(.tryAgain)): self.to(.asking(entry))
        case (.failed, .returned(.closed)): .finish(.retry)
        case (.asking, .answered), (.asking, .returned), (.showing, .answered), (.showing, .returned),
            (.failed, .answered), (.failed, .returned), (.askingAgain, .answered), (.askingAgain, .returned),
            (_, .entered), (_, .presented):
            .ignored
        }
    }

    private func show(_ verdict: PINVerdict, _ snapshot: Snapshot) -> Transition {
        switch verdict {
        case .valid: return .stay
        case .wrong(.open(let attemptsLeft, let finalRound)):
            let prompt = WrongPINPrompt(
                attemptsLeft: attemptsLeft,
                ofAttempts: snapshot.policy.attemptsPerRound,
                finalRound: finalRound
            )
            let dialog = prompt.dialog(attemptsLeft: attemptsLeft, blockFollows: !snapshot.policy.blocks.isEmpty)
            return .show(dialog, after: prompt.decision)
        case .wrong(.blocked(let remaining)):
            return .show(self.blocked(for: remaining, snapshot), after: "PF2.8/1.1g")
        case .blocked(let remaining):
            return .show(self.blocked(for: remaining, snapshot), after: "PF2.8/1.1b")
        case .wrong(.blockedPermanently): return .goTo(BlockedPermanently(), after: "PF2.8/1.1k")
        case .blockedPermanently: return .goTo(BlockedPermanently(), after: "PF2.8/1.1c")
        }
    }

    /// The screen of a block.
    ///
    /// Its end is an uptime, so a phone's clock that is set cannot show more than the block's length. The server
    /// decides when the block ends, and is asked again when the app comes back. A time that no policy allows is
    /// shortened, and the server is asked at its end.
    private func blocked(for remaining: Duration, _ snapshot: Snapshot) -> Dialog {
        let end = snapshot.uptime + min(remaining, AttemptPolicy.allowedBlocks.upperBound)
        return Dialog("PF2.8/5.1", .screen, .temporarilyBlocked, .blockedUntil(end))
            .with(.blockedUntil(end))
            .offering(.deleteWallet, "PF2.8/5.1a", .call(WipeAppData()))
            .offering(.forgotPIN, "PF2.8/5.1d", .call(ForgotPIN()))
            .offering(.back, "PF2.8/5.1b", .finish(.back(whileBlocked: true)))
            .offeringHelp("PF2.8/5.1c")
            .ending(.at(end), "PF2.8/5.1e", .finish(.retry))
            .resuming(self.to(.askingAgain(end)))
            .because(.blocked)
    }

    private static func error(_ failure: Failure) -> ErrorScreen {
        switch failure {
        case .noInternet: ErrorScreen(failure, at: "PF2.8/1.1l")
        case .serverUnreachable: ErrorScreen(failure, at: "PF2.8/1.1m", about: .attempt)
        case .revoked, .deviceInsecure, .generic: ErrorScreen(failure, at: "PF2.8/1.1")
        }
    }
}

/// PF2.8/9: the wallet cannot be opened with any PIN.
///
/// The only way out is to start over.
///
///     locking ──▶ blocked ──Delete Wallet──▶ UC9.4
///
/// If the app is open when it finds out about the block, it locks itself first: it drops its keys and does not pass any
/// link to the host application. The flow replaces all active flows, along with the PINs they have kept.
struct BlockedPermanently: Flow {
    enum State {
        case locking, blocked
    }

    var state = State.locking

    var place: Place { .atLock }

    func enter(_ snapshot: Snapshot) -> Transition {
        switch self.state {
        case .locking where !snapshot.isLocked: .ask(.lock)
        case .locking: self.to(.blocked)
        case .blocked:
            .show(
                Dialog("PF2.8/9.1", .screen, .blockedForGood, .tooManyFailedEntries)
                    .offering(.deleteWallet, "PF2.8/9.1a", .call(WipeAppData()))
                    .offeringHelp("PF2.8/9.1b")
                    .because(.blockedPermanently)
            )
        }
    }

    func handle(_ event: FlowEvent, _ snapshot: Snapshot) -> Transition {
        switch (self.state, event) {
        case (.locking, .answered(.locked)), (.locking, .answered(.failed)): self.to(.blocked)
        case (_, .entered), (_, .presented), (.locking, .answered), (.locking, .returned), (.blocked, _): .ignored
        }
    }
}

/// PF2.8/10: the user forgot the PIN.
///
/// The only way out is to start over.
struct ForgotPIN: Flow {
    func enter(_ snapshot: Snapshot) -> Transition {
        .show(
            Dialog("PF2.8/10.1", .screen, .forgotPIN, .forgotPINDelete)
                .offering(.deleteWallet, "PF2.8/10.1a", .call(WipeAppData()))
                .offering(.back, "PF2.8/10.1b", .finish(.back(whileBlocked: false)))
        )
    }
}

/// PF2.8/2–4 and 6–8: the prompt shown after a wrong PIN that does not result in a block.
///
/// The founding document numbers these prompts for rounds of four attempts. This type generalizes them. A separate
/// prompt follows the second-to-last attempt, and another follows the first attempt unless it is also the
/// second-to-last. All attempts in between share a prompt that states the number of attempts left.
enum WrongPINPrompt: Hashable {
    case first, between, oneLeft, finalFirst, finalBetween, finalOneLeft

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
            case .first: Self.dialog("PF2.8/2.1", .wrongPIN, close: "PF2.8/2.1a", forgot: "PF2.8/2.1b")
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
