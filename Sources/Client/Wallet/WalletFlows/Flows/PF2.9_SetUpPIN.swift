internal import Vocabulary

/// PF2.9 Set up PIN: asks the user to choose and repeat a PIN, then registers it with the server.
///
///     choosing ──satisfied──▶ repeating ──equal──▶ applying ──ok──▶ succeeded
///      ▲ │  ▲ └─not─▶ too simple     │ different     ▲ └──error── Close──▶ back
///      │ │  └────────OK──┘           ├─first──▶ retry prompt ──▶ repeating
///      │ └──Back──▶ back             └─second─▶ start over ──▶ choosing
///      └──No── stop? ──Yes──▶ stopped ──OK──▶ back           (a change only)
struct SetUpPIN: Flow {
    /// The way in which the new PIN is registered.
    enum Purpose: Sendable {
        /// UC2.1: by enrolling the wallet.
        case enroll
        /// UC2.6: with ChangePIN, authorized by the old PIN.
        case change(old: PINEntry)
    }

    enum State {
        case choosing
        case tooSimple(PINRule)
        case repeating(chosen: PINEntry, retried: Bool)
        case different(chosen: PINEntry)
        case differentAgain
        case applying(PINEntry)
        case askingToStop, stopped
    }

    var state = State.choosing
    private let purpose: Purpose

    init(_ purpose: Purpose) { self.purpose = purpose }

    func enter(_ snapshot: Snapshot) -> Transition {
        switch self.state {
        case .choosing:
            .show(
                Dialog("PF2.9/1.1", .screen, .choosePIN, .choosePINDigits)
                    .askingNewPIN("PF2.9/1.1a")
                    .offering(.back, "PF2.9/1.1b", self.back)
                    .offeringInfo("PF2.9/1.1c")
            )
        case .tooSimple(let rule):
            .show(
                Dialog("PF2.9/2.1", .screen, .pinTooSimple, .pinBreaks(rule))
                    .with(.brokenRule(rule))
                    .offering(.ok, "PF2.9/2.1a", self.to(.choosing))
                    .because(.pinNotAccepted)
            )
        case .repeating:
            .show(
                Dialog("PF2.9/1.3", .screen, .repeatPIN, .repeatPINDigits)
                    .askingNewPIN("PF2.9/1.3a")
                    .offering(.back, "PF2.9/1.3b", self.to(.choosing))
                    .offeringInfo("PF2.9/1.3c")
            )
        case .different(let chosen):
            .show(
                Dialog("PF2.9/3.1", .screen, .pinDifferentRetry)
                    .offering(.tryAgain, "PF2.9/3.1a", self.to(.repeating(chosen: chosen, retried: true)))
                    .because(.pinNotAccepted)
            )
        case .differentAgain:
            .show(
                Dialog("PF2.9/4.1", .screen, .pinDifferentStartOver)
                    .offering(.startOver, "PF2.9/4.1a", self.to(.choosing))
                    .because(.pinNotAccepted)
            )
        case .applying(let chosen): .ask(self.instruction(chosen))
        case .askingToStop:
            .show(
                Dialog("PF2.9/5.1", .prompt, .sureToStop)
                    .offering(.no, "PF2.9/5.1a", self.to(.choosing))
                    .offering(.yesStop, "PF2.9/5.1b", self.to(.stopped))
            )
        case .stopped:
            .show(
                Dialog("PF2.9/5.2", .screen, .stopped)
                    .offering(.ok, "PF2.9/5.2a", .finish(.back(whileBlocked: false)))
            )
        }
    }

    func handle(_ event: FlowEvent, _ snapshot: Snapshot) -> Transition {
        switch (self.state, event) {
        case (.choosing, .entered(.malformed(let rule))): self.to(.tooSimple(rule), after: "PF2.9/1.2b")
        case (.choosing, .entered(.complete(let entry))):
            if let rule = entry.brokenRule {
                self.to(.tooSimple(rule), after: "PF2.9/1.2b")
            } else {
                self.to(.repeating(chosen: entry, retried: false), after: "PF2.9/1.2a")
            }

        case (.repeating(let chosen, _), .entered(.complete(let entry))) where entry.isEqual(to: chosen):
            self.to(.applying(chosen), after: "PF2.9/1.4a")
        case (.repeating(let chosen, retried: false), .entered):
            self.to(.different(chosen: chosen), after: "PF2.9/1.4b")
        case (.repeating(_, retried: true), .entered): self.to(.differentAgain, after: "PF2.9/1.4c")

        case (.applying, .answered(.enrolled)), (.applying, .answered(.pinChanged)):
            .finish(.succeeded, after: "PF2.9/1.5a")
        // The old PIN was right a moment ago, so another client must have used up attempts since. The PIN has to be
        // confirmed again.
        case (.applying, .answered(.verdict(let verdict))): .call(ValidatePIN(showing: verdict))
        case (.applying, .returned(.retry)), (.applying, .returned(.back)): .finish(.back(whileBlocked: false))
        case (.applying, .answered(.failed(let failure))): .call(self.error(failure))
        case (.applying(let chosen), .returned(.tryAgain)): self.to(.applying(chosen))
        case (.applying, .returned(.closed)): .finish(.back(whileBlocked: false))

        case (_, .presented), (.tooSimple, _), (.different, _), (.differentAgain, _), (.askingToStop, _), (.stopped, _),
            (.choosing, .answered), (.choosing, .returned), (.repeating, .answered), (.repeating, .returned),
            (.applying, .entered), (.applying, .answered), (.applying, .returned):
            .ignored
        }
    }

    private var back: Transition {
        switch self.purpose {
        case .enroll: .finish(.back(whileBlocked: false))
        case .change: self.to(.askingToStop)
        }
    }

    private func instruction(_ chosen: PINEntry) -> Effect {
        switch self.purpose {
        case .enroll: .enroll(chosen)
        case .change(let old): .changePIN(old: old, new: chosen)
        }
    }

    private func error(_ failure: Failure) -> ErrorScreen {
        switch failure {
        case .deviceInsecure: ErrorScreen(failure, at: "PF2.9/1.5b")
        case .noInternet: ErrorScreen(failure, at: "PF2.9/1.5c")
        case .serverUnreachable: ErrorScreen(failure, at: "PF2.9/1.5d", about: self.concern)
        case .revoked, .generic: ErrorScreen(failure, at: "PF2.9/1.5")
        }
    }

    /// If changing the PIN failed, either PIN may be the right one.
    ///
    /// The user must be told.
    private var concern: ErrorScreen.Concern {
        switch self.purpose {
        case .enroll: .nothing
        case .change: .change
        }
    }
}
