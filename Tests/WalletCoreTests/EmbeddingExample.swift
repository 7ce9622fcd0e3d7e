import WalletCore

/// A host application with an embedded wallet.
struct HostApplication {
    let wallet: Wallet

    /// Opens a wallet with its files in `folder`, on this phone, for this server.
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

    /// An input of the user on a screen.
    enum UserInput {
        case select(ActionID)
        case type([UInt8])
        case present(Presentation)
        case leave
    }

    /// Shows each screen until the user leaves the app.
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

    /// Asks the user to confirm a payment, and returns the screen that asks.
    ///
    /// The observer receives the outcome.
    func pay(_ amount: String, to shop: String) async throws -> Screen {
        try await self.wallet.confirm(ConfirmationRequest(title: "Pay \(amount)", details: "To \(shop)"))
    }

    /// Hides the contents of the wallet while it is locked; returns when the wallet is released.
    func follow(hiding hide: (Bool) async -> Void) async {
        for await isLocked in self.wallet.lockStates { await hide(isLocked) }
    }
}
