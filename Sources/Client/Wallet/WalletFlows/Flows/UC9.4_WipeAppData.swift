/// UC9.4 Wipe all app data: gone from the device at once, and the server is told, now or at a later launch.
///
///     asking ──Yes──▶ wiping ──▶ UC1.1
///        └──Cancel──▶ (caller)
struct WipeAppData: Flow {
    private let isConfirmed: Bool

    /// `confirmed` where a screen before has asked already: a revoked wallet is created anew (UC1.2/5).
    init(confirmed isConfirmed: Bool = false) {
        self.isConfirmed = isConfirmed
    }

    mutating func start(_ snapshot: Snapshot) -> Transition {
        guard !self.isConfirmed else { return .ask(.wipe) }
        return .show(
            Scene("UC9.4/1.1", .screen, .wipeAppData, .sureToDelete)
                .offering((.yesDelete, "UC9.4/1.1a"), (.cancel, "UC9.4/1.1b"))
        )
    }

    mutating func select(_ action: ActionID, _ snapshot: Snapshot) -> Transition {
        switch action {
        case .yesDelete: .ask(.wipe)
        case .cancel: .finish(.returned)
        case _: .stay
        }
    }

    mutating func receive(_ answer: Answer, _ snapshot: Snapshot) -> Transition {
        switch answer {
        case .wiped(serverTold: true):
            .goTo(IntroduceTheApp(), after: "UC9.4/1.2", "UC9.4/1.2a")
        case .wiped(serverTold: false):
            .goTo(IntroduceTheApp(), after: "UC9.4/1.2", "UC9.4/1.2b")
        case .failed(let failure):
            .call(ErrorScreen(failure, at: "UC9.4/1.2"))
        case .updatePolicy, .status, .verdict, .enrolled, .pinChanged, .deletionCode, .progressKept, .prompted,
            .itemGone,
            .biometricsChanged, .pid, .recoveryCodeLinked, .locked:
            .stay
        }
    }

    mutating func resume(after result: FlowResult, _ snapshot: Snapshot) -> Transition {
        switch result {
        case .tryAgain: .ask(.wipe)
        case .closed: .finish(.returned)
        case .returned, .allowed, .confirmed, .retry, .back, .succeeded, .unlocked, .link: .stay
        }
    }
}
