/// UC9.4 Wipe all app data: deletes the local data immediately.
///
/// The server is notified now or at a later launch.
///
///     asking ──Yes──▶ wiping ──▶ UC1.1
///        └──Cancel──▶ (caller)
struct WipeAppData: Flow {
    enum State {
        case asking, wiping
    }

    var state: State

    /// `confirmed` is true if an earlier screen has asked already, because a revoked wallet is replaced with a new one
    /// (UC1.2/5).
    init(confirmed isConfirmed: Bool = false) { self.state = isConfirmed ? .wiping : .asking }

    func enter(_ snapshot: Snapshot) -> Transition {
        switch self.state {
        case .asking:
            .show(
                Dialog("UC9.4/1.1", .screen, .wipeAppData, .sureToDelete)
                    .offering(.yesDelete, "UC9.4/1.1a", self.to(.wiping))
                    .offering(.cancel, "UC9.4/1.1b", .finish(.returned))
            )
        case .wiping: .ask(.wipe)
        }
    }

    func handle(_ event: FlowEvent, _ snapshot: Snapshot) -> Transition {
        switch (self.state, event) {
        case (.wiping, .answered(.wiped(serverTold: true))):
            .goTo(IntroduceTheApp(), after: "UC9.4/1.2", "UC9.4/1.2a")
        case (.wiping, .answered(.wiped(serverTold: false))):
            .goTo(IntroduceTheApp(), after: "UC9.4/1.2", "UC9.4/1.2b")
        case (.wiping, .answered(.failed(let failure))): .call(ErrorScreen(failure, at: "UC9.4/1.2"))
        case (.wiping, .returned(.tryAgain)): self.to(.wiping)
        case (.wiping, .returned(.closed)): .finish(.returned)
        case (_, .entered), (_, .presented), (.asking, _), (.wiping, .answered), (.wiping, .returned): .ignored
        }
    }
}
