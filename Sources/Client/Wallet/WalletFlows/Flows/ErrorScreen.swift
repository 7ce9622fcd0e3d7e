/// The error screens of flows.md, identified by the step that failed; a revocation leads to its own screens.
///
///     shown ──Retry──▶ tryAgain
///        └──Close──▶ closed
struct ErrorScreen: Flow {
    /// The consequence that the user must know if it is unknown whether the server got the request.
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

    func enter(_ snapshot: Snapshot) -> Transition {
        switch self.failure {
        case .noInternet: self.show(.noInternet, .checkConnection, .noInternet)
        case .serverUnreachable(let notCounted):
            self.show(.serverUnreachable, self.unreachable(notCounted: notCounted), .serverUnreachable)
        case .deviceInsecure: self.show(.deviceInsecure, .deviceCannotBeUsed, .deviceInsecure, mayRetry: false)
        case .generic(let id): self.show(.somethingWrong, .quoteCode(id), .other, values: [.correlationID(id)])
        case .revoked(let revocation): RevokedWallet.transition(to: revocation)
        }
    }

    private func show(
        _ title: Text,
        _ message: Text,
        _ obstacle: Obstacle,
        mayRetry: Bool = true,
        values: [Scene.Value] = []
    ) -> Transition {
        var dialog = Dialog(self.step, .screen, title, message).because(obstacle)
        dialog.scene.values = values
        if mayRetry { dialog = dialog.offering(.retry, self.step, .finish(.tryAgain)) }
        return .show(dialog.offering(.close, self.step, .finish(.closed)), after: self.step)
    }

    private func unreachable(notCounted: Bool) -> Text {
        switch self.concern {
        case .nothing: .notReachedNow(notCounted: false)
        case .attempt: .notReachedNow(notCounted: notCounted)
        case .change: notCounted ? .notReachedNow(notCounted: false) : .notReachedEitherPIN
        }
    }
}

/// The placeholder that Help shows everywhere (flows.md, "Help").
struct UnderConstruction: Flow {
    let step: StepID

    func enter(_ snapshot: Snapshot) -> Transition {
        .show(Dialog(self.step, .prompt, .underConstruction).offering(.close, self.step, .finish(.returned)))
    }
}
