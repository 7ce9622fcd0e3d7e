internal import Vocabulary

/// PF2.8 Validate PIN: shows what the server decided about one entry of a PIN; decides nothing itself.
///
///     asking ──valid──▶ confirmed
///      ▲  ├──wrong──▶ prompt (2–4, 6–8) ──Close──▶ retry
///      │  ├──blocked──▶ blocked (5) ──timer──▶ retry · ──Back──▶ back
///      │  ├──for good──▶ blocked permanently (9)
///      │  └──error──▶ failed ──Close──▶ retry
///      └──Try again──────┘
///
/// An error keeps the entry, and with it the attempt id: trying again after a lost reply is the same attempt.
struct ValidatePIN: Flow {
    private enum State {
        case asking(PINEntry)
        case failed(PINEntry)
        case showing(PINVerdict)
        case prompt
        case blocked
        case blockedPermanently
    }

    private var state: State

    /// Whether the entry is kept for the person to try it again.
    var keepsPIN: Bool {
        switch self.state {
        case .failed: true
        case .asking, .showing, .prompt, .blocked, .blockedPermanently: false
        }
    }

    init(_ entry: PINEntry) {
        self.state = .asking(entry)
    }

    /// Shows a verdict that another instruction than CheckPIN met.
    init(showing verdict: PINVerdict) {
        self.state = .showing(verdict)
    }

    mutating func start(_ snapshot: Snapshot) -> Transition {
        switch self.state {
        case .asking(let entry): .ask(.checkPIN(entry))
        case .showing(let verdict): self.show(verdict, snapshot)
        case .failed, .prompt, .blocked, .blockedPermanently: .stay
        }
    }

    mutating func receive(_ answer: Answer, _ snapshot: Snapshot) -> Transition {
        switch (self.state, answer) {
        case (.asking(let entry), .verdict(.valid)):
            return .finish(.confirmed(entry), after: "PF2.8/1.1a")
        case (.asking, .verdict(let verdict)):
            return self.show(verdict, snapshot)
        case (.asking(let entry), .failed(let failure)):
            self.state = .failed(entry)
            return Self.fail(failure)
        case (_, _):
            return .stay
        }
    }

    mutating func resume(after result: FlowResult, _ snapshot: Snapshot) -> Transition {
        switch (self.state, result) {
        case (.failed(let entry), .tryAgain):
            self.state = .asking(entry)
            return .ask(.checkPIN(entry))
        case (.failed, .closed):
            return .finish(.retry)
        case (_, .back):
            return .finish(.back(whileBlocked: false))
        case (_, _):
            return .stay
        }
    }

    mutating func select(_ action: ActionID, _ snapshot: Snapshot) -> Transition {
        switch (self.state, action) {
        case (.prompt, .close): .finish(.retry)
        case (.prompt, .forgotPIN), (.blocked, .forgotPIN): .call(ForgotPIN())
        case (.blocked, .back): .finish(.back(whileBlocked: true))
        case (.blocked, .deleteWallet), (.blockedPermanently, .deleteWallet): .call(WipeAppData())
        case (_, _): .stay
        }
    }

    mutating func timerFired(_ snapshot: Snapshot) -> Transition {
        switch self.state {
        case .blocked: .finish(.retry)
        case .asking, .failed, .showing, .prompt, .blockedPermanently: .stay
        }
    }

    private mutating func show(_ verdict: PINVerdict, _ snapshot: Snapshot) -> Transition {
        switch verdict {
        case .valid:
            return .stay
        case .wrong(.open(let attemptsLeft, let finalRound)):
            self.state = .prompt
            let kind = WrongPINPrompt(
                attemptsLeft: attemptsLeft,
                ofAttempts: snapshot.policy.attemptsPerRound,
                finalRound: finalRound
            )
            return .show(kind.scene(attemptsLeft: attemptsLeft), after: kind.decision)
        case .wrong(.blocked(let remaining)):
            return self.block(until: snapshot.now + remaining, after: "PF2.8/1.1g")
        case .blocked(let remaining):
            return self.block(until: snapshot.now + remaining, after: "PF2.8/1.1b")
        case .wrong(.blockedPermanently):
            return self.blockPermanently(after: "PF2.8/1.1k")
        case .blockedPermanently:
            return self.blockPermanently(after: "PF2.8/1.1c")
        }
    }

    private mutating func block(until end: Timestamp, after step: StepID) -> Transition {
        self.state = .blocked
        return .show(
            Scene("PF2.8/5.1", .screen, .temporarilyBlocked, .blockedUntil(end))
                .with(.blockedUntil(end))
                .offering(
                    (.deleteWallet, "PF2.8/5.1a"),
                    (.forgotPIN, "PF2.8/5.1d"),
                    (.back, "PF2.8/5.1b"),
                    (.help, "PF2.8/5.1c")
                )
                .ending(.at(end), "PF2.8/5.1e")
                .because(.blocked),
            after: step
        )
    }

    private mutating func blockPermanently(after step: StepID) -> Transition {
        self.state = .blockedPermanently
        return .show(
            Scene("PF2.8/9.1", .screen, .blockedForGood, .tooManyFailedEntries)
                .offering((.deleteWallet, "PF2.8/9.1a"), (.help, "PF2.8/9.1b"))
                .because(.blockedPermanently),
            after: step
        )
    }

    private static func fail(_ failure: Failure) -> Transition {
        switch failure {
        case .noInternet: .call(ErrorScreen(failure, at: "PF2.8/1.1l"), after: "PF2.8/1.1l")
        case .serverUnreachable:
            .call(ErrorScreen(failure, at: "PF2.8/1.1m", about: .attempt), after: "PF2.8/1.1m")
        case .revoked(let revocation): RevokedWallet.transition(to: revocation)
        case .deviceInsecure, .generic: .call(ErrorScreen(failure, at: "PF2.8/1.1"))
        }
    }
}

/// PF2.8/10: the PIN is forgotten; only starting over helps.
struct ForgotPIN: Flow {
    mutating func start(_ snapshot: Snapshot) -> Transition {
        .show(
            Scene("PF2.8/10.1", .screen, .forgotPIN, .forgotPINDelete)
                .offering((.deleteWallet, "PF2.8/10.1a"), (.back, "PF2.8/10.1b"))
        )
    }

    mutating func select(_ action: ActionID, _ snapshot: Snapshot) -> Transition {
        switch action {
        case .deleteWallet: .call(WipeAppData())
        case .back: .finish(.back(whileBlocked: false))
        case _: .stay
        }
    }
}
