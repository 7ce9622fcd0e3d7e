/// UC7.1 The dashboard with its menu and settings: where an unlocked wallet with an identity rests.
///
///     dashboard ⇄ menu ⇄ settings ──▶ UC2.6, UC2.2, UC9.12, UC9.4
///                  └──Log out──▶ LOCK/1.2
struct Dashboard: Flow {
    enum Page: Sendable {
        case dashboard
        case menu
        case settings
    }

    private var page: Page

    init(at page: Page = .dashboard) {
        self.page = page
    }

    var place: Place { .behindLock }

    mutating func start(_ snapshot: Snapshot) -> Transition {
        self.present(self.page, snapshot)
    }

    mutating func select(_ action: ActionID, _ snapshot: Snapshot) -> Transition {
        switch (self.page, action) {
        case (.dashboard, .menu), (.settings, .back): return self.present(.menu, snapshot)
        case (.menu, .back): return self.present(.dashboard, snapshot)
        case (.menu, .settings): return self.present(.settings, snapshot)
        case (.menu, .logOut): return .lock(.logOut)
        case (.settings, .changePIN): return .call(ChangePIN())
        case (.settings, .biometrics): return .call(ManageBiometrics())
        case (.settings, .deletionCode): return .call(ViewDeletionCode())
        case (.settings, .deleteData): return .call(WipeAppData())
        case (_, _): return .stay
        }
    }

    private mutating func present(_ page: Page, _ snapshot: Snapshot) -> Transition {
        self.page = page
        switch page {
        case .dashboard:
            return .show(Scene("UC7.1/1.1", .screen, .dashboard).offering((.menu, "UC7.1/1.1a")))
        case .menu:
            return .show(
                Scene("UC7.1/1.2", .screen, .menu)
                    .offering((.settings, "UC7.1/1.2a"), (.logOut, "UC7.1/1.2b"), (.back, "UC7.1/1.2c"))
            )
        case .settings:
            var scene = Scene("UC7.1/1.3", .screen, .settings)
                .offering((.changePIN, "UC7.1/1.3a"), (.biometrics, "UC7.1/1.3b"))
            if snapshot.offersDeletionCode { scene = scene.offering((.deletionCode, "UC7.1/1.3c")) }
            return .show(scene.offering((.deleteData, "UC7.1/1.3d"), (.back, "UC7.1/1.3e")))
        }
    }
}
