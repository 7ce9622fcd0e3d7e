/// PF2.4 for the host application: asks the user to confirm an action that only the host knows.
///
///     PF2.4 ──confirmed──▶ event confirmed, the screen below
///        └──Back, Cancel──▶ the screen below
///
/// The lock ends a confirmation, because a different person may unlock the app.
///
/// Invariant: `confirmed` is sent only here. For every other way out, ``AppStateMachine/takeEvents()`` sends
/// `declined`.
struct ConfirmForHost: Flow {
    private let confirmation: ConfirmationRequest

    init(_ confirmation: ConfirmationRequest) { self.confirmation = confirmation }

    var place: Place { .behindLock }
    var endsWithLock: Bool { true }

    func enter(_ snapshot: Snapshot) -> Transition {
        .call(ConfirmProtectedAction(of: self.confirmation))
    }

    func handle(_ event: FlowEvent, _ snapshot: Snapshot) -> Transition {
        switch event {
        case .returned(.confirmed), .returned(.confirmedByPrompt):
            Transition(.finish(.returned), events: [.confirmed(self.confirmation)])
        case .returned(.back): .finish(.returned)
        case .entered, .presented, .answered, .returned: .ignored
        }
    }
}
