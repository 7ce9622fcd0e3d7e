/// The error screens, identified by the step that failed.
///
/// A revocation leads to other screens.
///
///     shown ──Retry──▶ tryAgain
///        ├──Reset wallet──▶ UC9.4   (only if nothing opens this wallet on this device)
///        └──Close──▶ closed
struct ErrorScreen: Flow {
    /// A consequence the user must know about if the server may or may not have received the request.
    enum Concern: Sendable {
        case nothing
        /// The entered PIN may have been counted.
        case attempt
        /// The new PIN may already be in effect.
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

    func enter(_ snapshot: Snapshot) -> Transition {
        switch self.failure {
        case .noInternet: self.show(self.retriable(.noInternet, .checkConnection).because(.noInternet))
        case .serverUnreachable(let notCounted, let cause):
            self.show(
                self.retriable(.serverUnreachable, self.unreachable(notCounted: notCounted))
                    .because(.serverUnreachable).with(.cause(cause))
            )
        case .deviceInsecure:
            self.show(Dialog(self.step, .screen, .deviceInsecure, .deviceCannotBeUsed).because(.deviceInsecure))
        case .generic(let id, let cause):
            self.show(self.generic(id, cause).because(.other).with(.correlationID(id), .cause(cause)))
        case .revoked(let revocation): RevokedWallet.transition(to: revocation)
        }
    }

    private func generic(_ id: String, _ cause: FailureCause) -> Dialog {
        switch cause.wayOut {
        case .retry: self.retriable(.somethingWrong, .quoteCode(id))
        case .retryOrReset: self.resettable(self.retriable(.somethingWrong, .cannotBeOpened(cause)))
        case .reset: self.resettable(Dialog(self.step, .screen, .somethingWrong, .cannotBeOpened(cause)))
        }
    }

    private func retriable(_ title: Text, _ message: Text) -> Dialog {
        Dialog(self.step, .screen, title, message).offering(.retry, self.step, .finish(.tryAgain))
    }

    private func resettable(_ dialog: Dialog) -> Dialog {
        dialog.offering(.resetWallet, self.step, .call(WipeAppData()))
    }

    private func show(_ dialog: Dialog) -> Transition {
        .show(dialog.offering(.close, self.step, .finish(.closed)), after: self.step)
    }

    private func unreachable(notCounted: Bool) -> Text {
        switch self.concern {
        case .nothing: .notReachedNow(notCounted: false)
        case .attempt: .notReachedNow(notCounted: notCounted)
        case .change: notCounted ? .notReachedNow(notCounted: false) : .notReachedEitherPIN
        }
    }
}

/// The placeholder that is always shown for Help.
struct UnderConstruction: Flow {
    let step: StepID

    func enter(_ snapshot: Snapshot) -> Transition {
        .show(Dialog(self.step, .prompt, .underConstruction).offering(.close, self.step, .finish(.returned)))
    }
}
