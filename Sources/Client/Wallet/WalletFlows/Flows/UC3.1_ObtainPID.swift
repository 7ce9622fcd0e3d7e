internal import Vocabulary

/// UC3.1 Obtain PID: its two edges; what issues an identity is the host application's.
///
///     offer (1.1) ──Obtain──▶ hook (1.2) ──obtained──▶ PF2.4 (1.3) ──confirmed──▶ linking (1.4) ──▶ UC7.1
///        ▲                      │ cancelled, failed      └──Back──▶ offer             └──denied──▶ UC1.2/6
///        └──────────────────────┘
struct ObtainPID: Flow {
    private enum State {
        case offering
        case obtaining
        case confirming(RecoveryCode)
        case linking(PINEntry, RecoveryCode)
    }

    private var state = State.offering

    var place: Place { .behindLock }

    var endsWithLock: Bool {
        switch self.state {
        case .offering: false
        case .obtaining, .confirming, .linking: true
        }
    }

    mutating func start(_ snapshot: Snapshot) -> Transition {
        // A link that came along is told that there is no identity yet, before the offer (PF2.7/3).
        snapshot.link == nil ? self.offer() : .call(ResolveUniversalLink())
    }

    mutating func select(_ action: ActionID, _ snapshot: Snapshot) -> Transition {
        switch (self.state, action) {
        case (.offering, .obtain):
            self.state = .obtaining
            return .ask(.obtainPID)
        case (_, _):
            return .stay
        }
    }

    mutating func receive(_ answer: Answer, _ snapshot: Snapshot) -> Transition {
        switch (self.state, answer) {
        case (.obtaining, .pid(.some(let code))):
            return self.confirm(code, after: "UC3.1/1.2a")
        case (.obtaining, .pid(.none)):
            return self.offer(after: "UC3.1/1.2b")
        case (.linking, .recoveryCodeLinked):
            return .goTo(Dashboard(), after: "UC3.1/1.4a")
        case (.linking, .verdict(let verdict)):
            // The PIN was right a moment ago: somebody else spent attempts, and it has to be confirmed again.
            return .call(ValidatePIN(showing: verdict))
        case (_, .failed(.revoked(let revocation))):
            var transition = RevokedWallet.transition(to: revocation)
            if revocation.reason == .recoveryCode { transition.steps.insert("UC3.1/1.4b", at: 0) }
            return transition
        case (.obtaining, .failed(let failure)):
            return .call(ErrorScreen(failure, at: "UC3.1/1.2"))
        case (.linking, .failed(let failure)):
            return .call(ErrorScreen(failure, at: "UC3.1/1.4"))
        case (_, _):
            return .stay
        }
    }

    mutating func resume(after result: FlowResult, _ snapshot: Snapshot) -> Transition {
        switch (self.state, result) {
        case (.confirming(let code), .confirmed(let entry)):
            self.state = .linking(entry, code)
            return .ask(.linkRecoveryCode(entry, code), after: "UC3.1/1.3a")
        case (.confirming, .back):
            return self.offer(after: "UC3.1/1.3b")
        case (.obtaining, .tryAgain):
            return .ask(.obtainPID)
        case (.linking(let entry, let code), .tryAgain):
            return .ask(.linkRecoveryCode(entry, code))
        case (.linking(_, let code), .retry):
            return self.confirm(code)
        case (.offering, .link), (_, .closed), (.linking, .back):
            return self.offer()
        case (_, _):
            return .stay
        }
    }

    private mutating func offer(after steps: StepID...) -> Transition {
        self.state = .offering
        let scene = Scene("UC3.1/1.1", .screen, .obtainPID, .obtainPIDWhy)
            .offering((.obtain, "UC3.1/1.1a"), (.help, "UC3.1/1.1b"))
        return Transition(.show(scene), steps: steps)
    }

    private mutating func confirm(_ code: RecoveryCode, after steps: StepID...) -> Transition {
        self.state = .confirming(code)
        return Transition(.call(ConfirmProtectedAction(isCancelable: false)), steps: steps)
    }
}
