/// UC3.1 Obtain PID: only its edge; what issues an identity is the host application's.
struct ObtainPID: Flow {
    mutating func start(_ facts: Facts) -> Turn {
        .show(
            Scene("UC3.1/1.1", .screen, .obtainPID, .obtainPIDWhy)
                .offering((.obtain, "UC3.1/1.1a"), (.help, "UC3.1/1.1b"))
        )
    }

    mutating func select(_ action: ActionID, _ facts: Facts) -> Turn {
        switch action {
        case .obtain: Turn(.stay, events: [.pidRequested])
        case _: .stay
        }
    }
}
