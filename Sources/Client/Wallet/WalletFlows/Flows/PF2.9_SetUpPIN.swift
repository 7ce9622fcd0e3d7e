internal import Vocabulary

/// PF2.9 Set up PIN: choose, repeat, and have it count at the server.
///
///     choosing ──satisfied──▶ repeating ──equal──▶ applying ──ok──▶ succeeded
///      ▲ │  ▲ └─not─▶ too simple     │ different     ▲ └──error──▶ failed ──Close──▶ back
///      │ │  └────────OK──┘           ├─first──▶ retry prompt ──▶ repeating
///      │ └──Back──▶ back             └─second─▶ start over ──▶ choosing
///      └──No── stop? ──Yes──▶ stopped ──OK──▶ back           (a change only)
struct SetUpPIN: Flow {
    /// What makes the new PIN count.
    enum Purpose: Sendable {
        /// UC2.1: the wallet enrolls.
        case enroll
        /// UC2.6: ChangePin, paid for by the old PIN.
        case change(old: PINEntry)
    }

    private enum State {
        case choosing
        case tooSimple
        case repeating(chosen: PINEntry, retried: Bool)
        case different(chosen: PINEntry)
        case differentAgain
        case applying(PINEntry)
        case failed(PINEntry)
        case askingToStop
        case stopped
    }

    private var state = State.choosing
    private let purpose: Purpose

    init(_ purpose: Purpose) {
        self.purpose = purpose
    }

    mutating func start(_ snapshot: Snapshot) -> Transition {
        self.choose()
    }

    mutating func enter(_ input: PINInput, _ snapshot: Snapshot) -> Transition {
        switch (self.state, input) {
        case (.choosing, .malformed(let rule)):
            return self.refuse(rule)
        case (.choosing, .complete(let entry)):
            if let rule = entry.brokenRule { return self.refuse(rule) }
            return self.askAgain(chosen: entry, retried: false, after: "PF2.9/1.2a")
        case (.repeating(let chosen, _), .complete(let entry)) where entry.isEqual(to: chosen):
            return self.apply(chosen, after: "PF2.9/1.4a")
        case (.repeating(let chosen, retried: false), _):
            self.state = .different(chosen: chosen)
            return .show(
                Scene("PF2.9/3.1", .screen, .pinDifferentRetry).offering((.tryAgain, "PF2.9/3.1a"))
                    .because(.pinNotAccepted),
                after: "PF2.9/1.4b"
            )
        case (.repeating(_, retried: true), _):
            self.state = .differentAgain
            return .show(
                Scene("PF2.9/4.1", .screen, .pinDifferentStartOver).offering((.startOver, "PF2.9/4.1a"))
                    .because(.pinNotAccepted),
                after: "PF2.9/1.4c"
            )
        case (_, _):
            return .stay
        }
    }

    mutating func select(_ action: ActionID, _ snapshot: Snapshot) -> Transition {
        switch (self.state, action) {
        case (.choosing, .back):
            return self.leave()
        case (.tooSimple, .ok), (.differentAgain, .startOver), (.repeating, .back), (.askingToStop, .no):
            return self.choose()
        case (.different(let chosen), .tryAgain):
            return self.askAgain(chosen: chosen, retried: true)
        case (.askingToStop, .yesStop):
            self.state = .stopped
            return .show(Scene("PF2.9/5.2", .screen, .stopped).offering((.ok, "PF2.9/5.2a")))
        case (.stopped, .ok):
            return .finish(.back(whileBlocked: false))
        case (_, _):
            return .stay
        }
    }

    mutating func receive(_ answer: Answer, _ snapshot: Snapshot) -> Transition {
        switch (self.state, answer) {
        case (.applying, .enrolled), (.applying, .pinChanged):
            return .finish(.succeeded, after: "PF2.9/1.5a")
        case (.applying(let chosen), .verdict(let verdict)):
            // The old PIN was right a moment ago: somebody else spent attempts, and it has to be confirmed again.
            self.state = .failed(chosen)
            return .call(ValidatePIN(showing: verdict))
        case (.applying(let chosen), .failed(let failure)):
            self.state = .failed(chosen)
            return self.fail(failure)
        case (_, _):
            return .stay
        }
    }

    mutating func resume(after result: FlowResult, _ snapshot: Snapshot) -> Transition {
        switch (self.state, result) {
        case (.failed(let chosen), .tryAgain): self.apply(chosen)
        case (.failed, .closed), (.failed, .retry), (.failed, .back): .finish(.back(whileBlocked: false))
        case (_, _): .stay
        }
    }

    private mutating func choose() -> Transition {
        self.state = .choosing
        return .show(
            Scene("PF2.9/1.1", .screen, .choosePIN, .choosePINDigits)
                .askingPIN("PF2.9/1.1a")
                .offering((.back, "PF2.9/1.1b"), (.info, "PF2.9/1.1c"))
        )
    }

    private mutating func refuse(_ rule: PINRule) -> Transition {
        self.state = .tooSimple
        return .show(
            Scene("PF2.9/2.1", .screen, .pinTooSimple, .pinBreaks(rule))
                .with(.brokenRule(rule))
                .offering((.ok, "PF2.9/2.1a"))
                .because(.pinNotAccepted),
            after: "PF2.9/1.2b"
        )
    }

    private mutating func askAgain(chosen: PINEntry, retried: Bool, after steps: StepID...) -> Transition {
        self.state = .repeating(chosen: chosen, retried: retried)
        let scene = Scene("PF2.9/1.3", .screen, .repeatPIN, .repeatPINDigits)
            .askingPIN("PF2.9/1.3a")
            .offering((.back, "PF2.9/1.3b"), (.info, "PF2.9/1.3c"))
        return Transition(.show(scene), steps: steps)
    }

    private mutating func apply(_ chosen: PINEntry, after steps: StepID...) -> Transition {
        self.state = .applying(chosen)
        switch self.purpose {
        case .enroll: return Transition(.ask(.enroll(chosen)), steps: steps)
        case .change(let old): return Transition(.ask(.changePIN(old: old, new: chosen)), steps: steps)
        }
    }

    private mutating func leave() -> Transition {
        switch self.purpose {
        case .enroll:
            return .finish(.back(whileBlocked: false))
        case .change:
            self.state = .askingToStop
            return .show(
                Scene("PF2.9/5.1", .prompt, .sureToStop).offering((.no, "PF2.9/5.1a"), (.yesStop, "PF2.9/5.1b"))
            )
        }
    }

    /// Whoever closes the error of a change must know that either PIN may be the right one.
    private var concern: ErrorScreen.Concern {
        switch self.purpose {
        case .enroll: .nothing
        case .change: .change
        }
    }

    private func fail(_ failure: Failure) -> Transition {
        switch failure {
        case .deviceInsecure: .call(ErrorScreen(failure, at: "PF2.9/1.5b"), after: "PF2.9/1.5b")
        case .noInternet: .call(ErrorScreen(failure, at: "PF2.9/1.5c"), after: "PF2.9/1.5c")
        case .serverUnreachable:
            .call(ErrorScreen(failure, at: "PF2.9/1.5d", about: self.concern), after: "PF2.9/1.5d")
        case .revoked(let revocation): RevokedWallet.transition(to: revocation)
        case .generic: .call(ErrorScreen(failure, at: "PF2.9/1.5"))
        }
    }
}
