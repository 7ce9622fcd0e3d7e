/// UC7.1 The dashboard with its menu and settings: where an unlocked wallet with an identity rests.
///
///     dashboard ⇄ menu ⇄ settings ──▶ UC2.6, UC9.12, UC9.4
///                  └──Log out──▶ locking ──▶ UC2.3
struct Dashboard: Flow {
    enum Place: Sendable {
        case dashboard
        case menu
        case settings
        case locking
    }

    private var place: Place

    init(at place: Place = .dashboard) {
        self.place = place
    }

    mutating func start(_ facts: Facts) -> Turn {
        self.present(self.place)
    }

    mutating func select(_ action: ActionID, _ facts: Facts) -> Turn {
        switch (self.place, action) {
        case (.dashboard, .menu), (.settings, .back): return self.present(.menu)
        case (.menu, .back): return self.present(.dashboard)
        case (.menu, .settings): return self.present(.settings)
        case (.menu, .logOut):
            self.place = .locking
            return .ask(.lock)
        case (.settings, .changePIN): return .call(ChangePIN())
        case (.settings, .deletionCode): return .call(ViewDeletionCode())
        case (.settings, .deleteData): return .call(WipeAppData())
        case (_, _): return .stay
        }
    }

    mutating func receive(_ answer: Answer, _ facts: Facts) -> Turn {
        switch (self.place, answer) {
        case (.locking, .locked): .goTo(UnlockTheApp(then: .enter), after: "LOCK/1.2")
        case (_, _): .stay
        }
    }

    private mutating func present(_ place: Place) -> Turn {
        self.place = place
        switch place {
        case .dashboard:
            return .show(Scene("UC7.1/1.1", .screen, .dashboard).offering((.menu, "UC7.1/1.1a")))
        case .menu:
            return .show(
                Scene("UC7.1/1.2", .screen, .menu)
                    .offering((.settings, "UC7.1/1.2a"), (.logOut, "UC7.1/1.2b"), (.back, "UC7.1/1.2c"))
            )
        case .settings:
            return .show(
                Scene("UC7.1/1.3", .screen, .settings)
                    .offering(
                        (.changePIN, "UC7.1/1.3a"),
                        (.deletionCode, "UC7.1/1.3c"),
                        (.deleteData, "UC7.1/1.3d"),
                        (.back, "UC7.1/1.3e")
                    )
            )
        case .locking:
            return .ask(.lock)
        }
    }
}
