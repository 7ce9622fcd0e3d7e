import WalletCore

/// A host application with a wallet in it.
struct HostApplication {
    let wallet: Wallet

    /// A wallet that keeps its files in `folder`, on this phone, with this server.
    init(folder: String, device: any Device, server: TLSDialer.Server) throws {
        var settings = Wallet.Settings()
        settings.wording = Wording(language: .english, product: "Example Wallet")
        settings.linkBase = "https://example.org/wallet"
        self.wallet = try Wallet(
            disk: FolderDisk(folder: folder),
            device: device,
            dialer: TLSDialer(server),
            settings: settings
        )
    }

    init(_ wallet: Wallet) {
        self.wallet = wallet
    }

    /// What a person does at a screen.
    enum UserInput {
        case select(ActionID)
        case type([UInt8])
        case present(Presentation)
        case leave
    }

    /// Shows one screen after the other, until the person leaves the app.
    func run(showing show: (Screen) async -> UserInput) async throws {
        var screen = await self.wallet.launch()
        while true {
            switch await show(screen) {
            case .select(let action): screen = try await self.wallet.perform(action)
            case .type(let digits): screen = try await self.wallet.enter(PINInput(typed: digits))
            case .present(let presentation): screen = try await self.wallet.present(presentation)
            case .leave: return await self.wallet.background()
            }
        }
    }

    /// Hides what only an unlocked wallet may show; ends with the wallet.
    func follow(hiding hide: (Bool) async -> Void) async {
        for await isLocked in self.wallet.lockStates { await hide(isLocked) }
    }
}
