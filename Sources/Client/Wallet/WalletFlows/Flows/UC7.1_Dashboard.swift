/// UC7.1: the dashboard with its menu and settings, the home screen of an unlocked wallet with an identity.
///
///     dashboard ⇄ menu ⇄ settings ──▶ UC2.6, UC2.2, UC9.12, UC9.4
///                  └──Log out──▶ LOCK/1.2
struct Dashboard: Flow {
    enum State {
        case dashboard, menu, settings
    }

    var state = State.dashboard

    var place: Place { .behindLock }

    func enter(_ snapshot: Snapshot) -> Transition {
        switch self.state {
        case .dashboard:
            .show(
                Dialog("UC7.1/1.1", .screen, .dashboard)
                    .offering(.menu, "UC7.1/1.1a", self.to(.menu))
            )
        case .menu:
            .show(
                Dialog("UC7.1/1.2", .screen, .menu)
                    .offering(.settings, "UC7.1/1.2a", self.to(.settings))
                    .offering(.logOut, "UC7.1/1.2b", .lock(.logOut))
                    .offering(.back, "UC7.1/1.2c", self.to(.dashboard))
            )
        case .settings: .show(self.settings(snapshot))
        }
    }

    private func settings(_ snapshot: Snapshot) -> Dialog {
        let dialog = Dialog("UC7.1/1.3", .screen, .settings)
            .offering(.changePIN, "UC7.1/1.3a", .call(ChangePIN()))
            .offering(.biometrics, "UC7.1/1.3b", .call(ManageBiometrics()))
        let code = dialog.offering(.deletionCode, "UC7.1/1.3c", .call(ViewDeletionCode()))
        return (snapshot.offersDeletionCode ? code : dialog)
            .offering(.deleteData, "UC7.1/1.3d", .call(WipeAppData()))
            .offering(.back, "UC7.1/1.3e", self.to(.menu))
    }
}
