/// The error screens of flows.md, known by the step that failed.
///
///     shown ──Retry──▶ tryAgain
///        └──Close──▶ closed
struct ErrorScreen: Flow {
    /// What the person has to know where nobody knows what the server did.
    enum Concern: Sendable {
        case nothing
        /// A PIN was entered that may have been counted.
        case attempt
        /// A new PIN may count already.
        case change
    }

    private let failure: Failure
    private let step: StepID
    private let concern: Concern

    init(_ failure: Failure, at step: StepID, about concern: Concern = .nothing) {
        self.failure = failure
        self.step = step
        self.concern = concern
    }

    mutating func start(_ snapshot: Snapshot) -> Transition {
        let retry: (ActionID, StepID) = (.retry, self.step)
        let close: (ActionID, StepID) = (.close, self.step)
        switch self.failure {
        case .noInternet:
            return .show(
                Scene(self.step, .screen, .noInternet, .checkConnection).offering(retry, close).because(.noInternet)
            )
        case .serverUnreachable(let notCounted):
            return .show(
                Scene(self.step, .screen, .serverUnreachable, self.unreachable(notCounted: notCounted))
                    .offering(retry, close).because(.serverUnreachable)
            )
        case .deviceInsecure:
            return .show(
                Scene(self.step, .screen, .deviceInsecure, .deviceCannotBeUsed).offering(close)
                    .because(.deviceInsecure)
            )
        case .generic(let correlationID):
            return .show(
                Scene(self.step, .screen, .somethingWrong, .quoteCode(correlationID))
                    .with(.correlationID(correlationID)).offering(retry, close).because(.other)
            )
        case .revoked(let revocation):
            return RevokedWallet.transition(to: revocation)
        }
    }

    private func unreachable(notCounted: Bool) -> Text {
        switch self.concern {
        case .nothing: .notReachedNow(notCounted: false)
        case .attempt: .notReachedNow(notCounted: notCounted)
        case .change: notCounted ? .notReachedNow(notCounted: false) : .notReachedEitherPIN
        }
    }

    mutating func select(_ action: ActionID, _ snapshot: Snapshot) -> Transition {
        switch action {
        case .retry: .finish(.tryAgain)
        case .close: .finish(.closed)
        case _: .stay
        }
    }
}

/// What Help shows everywhere (flows.md, "Help").
struct UnderConstruction: Flow {
    let step: StepID

    mutating func start(_ snapshot: Snapshot) -> Transition {
        .show(Scene(self.step, .prompt, .underConstruction).offering((.close, self.step)))
    }

    mutating func select(_ action: ActionID, _ snapshot: Snapshot) -> Transition {
        .finish(.returned)
    }
}
