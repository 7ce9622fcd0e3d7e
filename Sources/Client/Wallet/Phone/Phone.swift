internal import HostSystem
package import DeviceInterface
package import SimulatedPhone
package import WalletCore

/// A phone in a hand: its home, its device, and the app that runs on it or not.
///
///     let phone = try Phone(PhoneHome("phone"), WalletSettings(lab: "lab"))
///     try await phone.launch()
///     try await phone.tap(.skip)
///     try await phone.enter(PINInput(typed: digits))
///
/// A process of the app is one ``Wallet``: ``launch(opening:)`` makes it from what the home holds, ``endProcess()`` lets
/// go of it. What is asked for meanwhile waits for its turn, so nothing is refused for being too early. Every method
/// returns the screen that is there then.
package actor Phone {
    package nonisolated let home: PhoneHome
    package nonisolated let device: SimulatedDevice
    /// Host and port of the server.
    package nonisolated let serverAddress: String

    private let settings: WalletSettings
    private let clock: any WallClock
    private let dialer: TLSDialer
    private let behavior: Behavior
    private let hooks: DeviceHooks
    private let between: Between
    private let observer: @Sendable (WalletEvent) -> Void
    private let exitFlag = AppExitFlag()

    /// The process of the app; nil where none runs.
    private var wallet: Wallet?
    private var isInBackground = false
    /// One thing at a time happens to a phone.
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// How those who hold the phone want it.
    package struct Behavior: Hashable, Sendable {
        /// Whether the splash screen ends at once, as scripts and scenarios want it.
        package var skipsSplash: Bool
        /// Whether a prompt that a healthy sensor would answer waits for somebody to ``Phone/present(_:)`` something.
        package var asksPerson: Bool

        package init(skipsSplash: Bool = false, asksPerson: Bool = false) {
            self.skipsSplash = skipsSplash
            self.asksPerson = asksPerson
        }
    }

    /// What stands between a wallet and the phone that it runs on, as a scenario puts something that cuts the power.
    package struct Between: Sendable {
        package var disk: @Sendable (any LocalDisk) -> any LocalDisk
        package var device: @Sendable (any Device) -> any Device

        package init(
            disk: @escaping @Sendable (any LocalDisk) -> any LocalDisk = { $0 },
            device: @escaping @Sendable (any Device) -> any Device = { $0 }
        ) {
            self.disk = disk
            self.device = device
        }
    }

    /// Takes up what the home holds; no process of the app runs yet.
    ///
    /// - Parameters:
    ///   - profile: What a phone that is used for the first time is; ignored where the home has one.
    ///   - hooks: Programs that stand in for parts of the phone.
    ///   - between: What stands between the wallet and the phone.
    ///   - observer: Hears everything as it happens, before the method that caused it returns.
    package init(
        _ home: PhoneHome,
        _ settings: WalletSettings,
        new profile: DeviceProfile = DeviceProfile(.android),
        _ behavior: Behavior = Behavior(),
        hooks: DeviceHooks = DeviceHooks(),
        between: Between = Between(),
        observer: @escaping @Sendable (WalletEvent) -> Void = { _ in }
    ) throws(PhoneError) {
        self.home = home
        self.settings = settings
        self.clock = try settings.clock()
        self.behavior = behavior
        self.hooks = hooks
        self.between = between
        do throws(TLSDialer.NotUsable) {
            self.dialer = try TLSDialer(settings.server)
        } catch {
            throw .usage("\(error)")
        }
        self.serverAddress = self.dialer.address
        do throws(DeviceError) {
            self.device = try SimulatedDevice(
                folder: home.deviceFolder,
                authorityFolder: settings.authorityFolder ?? home.deviceFolder,
                clock: self.clock,
                new: profile
            )
        } catch {
            throw .device(error)
        }
        let exitFlag = self.exitFlag
        self.observer = { event in
            exitFlag.note(event)
            observer(event)
        }
    }

    /// Starts a process of the app, always locked (UC1.2/1.1a); one that runs ends first.
    @discardableResult
    package func launch(opening link: IncomingLink? = nil) async throws(PhoneError) -> Screen {
        await self.takeTurn()
        defer { self.endTurn() }
        await self.drop()
        let wallet = try self.makeWallet()
        self.wallet = wallet
        self.isInBackground = false
        let screen = await wallet.launch(opening: link)
        await self.noteLeaving(wallet)
        return screen
    }

    /// Brings the app to the front (UC1.2/1.1b); a launch where its process ended meanwhile.
    @discardableResult
    package func resume(opening link: IncomingLink? = nil) async throws(PhoneError) -> Screen {
        guard self.isRunning else { return try await self.launch(opening: link) }
        return try await self.act { wallet throws(PhoneError) in
            self.isInBackground = false
            return await wallet.resume(opening: link)
        }
    }

    /// A link is followed on the phone: the app comes to the front with it, or starts.
    @discardableResult
    package func open(_ link: IncomingLink) async throws(PhoneError) -> Screen {
        try await self.resume(opening: link)
    }

    /// Sends the app out of sight; its process lives on.
    @discardableResult
    package func background() async throws(PhoneError) -> Screen {
        try await self.act { wallet throws(PhoneError) in
            if !self.isInBackground { await wallet.background() }
            self.isInBackground = true
            return await wallet.screen
        }
    }

    /// Ends the process of the app, as the phone does to apps out of sight: nothing is told or saved.
    package func endProcess() async {
        await self.takeTurn()
        defer { self.endTurn() }
        await self.drop()
    }

    /// Selects one of the present screen's actions.
    @discardableResult
    package func tap(_ action: ActionID) async throws(PhoneError) -> Screen {
        try await self.inFront { wallet throws(WalletError) in try await wallet.perform(action) }
    }

    /// Enters a PIN where the present screen asks for one.
    @discardableResult
    package func enter(_ input: PINInput) async throws(PhoneError) -> Screen {
        try await self.inFront { wallet throws(WalletError) in try await wallet.enter(input) }
    }

    /// Holds something to the phone while a prompt of the operating system is open.
    @discardableResult
    package func present(_ presentation: Presentation) async throws(PhoneError) -> Screen {
        try await self.inFront { wallet throws(WalletError) in try await wallet.present(presentation) }
    }

    /// The host application is in the middle of something, or of nothing more; ends with the process.
    @discardableResult
    package func setHostSession(_ session: HostSession?) async throws(PhoneError) -> Screen {
        try await self.act { wallet throws(PhoneError) in
            await wallet.setHostSession(session)
            return await wallet.screen
        }
    }

    /// Goes to what a one-shot command is named for.
    @discardableResult
    package func goTo(_ destination: AppDestination) async throws(PhoneError) -> Screen {
        try await self.inFront { wallet throws(WalletError) in try await wallet.open(destination) }
    }

    /// The present screen as it is now, once what fell due has happened.
    ///
    /// While something else is under way, the screen only. Out of sight an app's timers stand still until the next resume;
    /// only its keys are forgotten in time.
    @discardableResult
    package func refresh() async -> Screen {
        guard let wallet = self.wallet else { return .none }
        guard !self.isTaken else { return await wallet.screen }
        await self.takeTurn()
        defer { self.endTurn() }
        let screen = await wallet.refresh()
        await self.noteLeaving(wallet)
        return screen
    }
}

// MARK: What is known of it

extension Phone {
    /// The present screen, with countdowns as of now; ``Screen/none`` where no process of the app runs.
    package var screen: Screen {
        get async { await self.wallet?.screen ?? .none }
    }

    /// Whether a process of the app runs, in sight or not.
    package var isRunning: Bool { self.wallet != nil }

    /// Whether a process of the app runs in sight.
    package var isInFront: Bool { self.wallet != nil && !self.isInBackground }

    /// Whether something is under way that has to end before the next thing happens.
    package var isBusy: Bool { self.isTaken }

    /// What keeps the person from where they wanted to go, if anything does.
    package var obstacle: Obstacle? {
        get async { await self.wallet?.obstacle }
    }

    /// Whether the data key is out of memory; so it is where no process of the app runs.
    package var isLocked: Bool {
        get async { await self.wallet?.isLocked ?? true }
    }

    /// How far the wallet is set up; nil where no process of the app runs.
    package var setup: SetupProgress? {
        get async { await self.wallet?.setup }
    }

    /// The wallet's id at the server; nil before the setup, after a wipe, and where no process of the app runs.
    package var walletID: WalletID? {
        get async { await self.wallet?.walletID }
    }
}

// MARK: One thing at a time

extension Phone {
    private func takeTurn() async {
        guard self.isTaken else {
            self.isTaken = true
            return
        }
        await withCheckedContinuation { self.waiting.append($0) }
    }

    private func endTurn() {
        guard !self.waiting.isEmpty else {
            self.isTaken = false
            return
        }
        self.waiting.removeFirst().resume()
    }

    private func act(
        _ body: (Wallet) async throws(PhoneError) -> Screen
    ) async throws(PhoneError) -> Screen {
        await self.takeTurn()
        defer { self.endTurn() }
        guard let wallet = self.wallet else { throw .notRunning }
        let screen = try await body(wallet)
        await self.noteLeaving(wallet)
        return screen
    }

    /// Something that a person does with the app, which they can see.
    private func inFront(
        _ body: (Wallet) async throws(WalletError) -> Screen
    ) async throws(PhoneError) -> Screen {
        try await self.act { wallet throws(PhoneError) in
            guard !self.isInBackground else { throw .inBackground }
            do throws(WalletError) {
                return try await body(wallet)
            } catch {
                throw .wallet(error)
            }
        }
    }

    private func makeWallet() throws(PhoneError) -> Wallet {
        let disk: FolderDisk
        do throws(FileError) {
            disk = try FolderDisk(folder: self.home.appFolder)
        } catch {
            throw .storage("\(error)")
        }
        var walletSettings = Wallet.Settings()
        walletSettings.wording = self.settings.wording
        walletSettings.skipsSplash = self.behavior.skipsSplash
        walletSettings.issuer = HookedIssuer(for: self.device, self.hooks) ?? SimulatedIssuer(for: self.device)
        walletSettings.lockTimes = self.settings.lockTimes
        if let linkBase = self.settings.linkBase { walletSettings.linkBase = linkBase }
        do throws(WalletError) {
            return try Wallet(
                disk: self.between.disk(disk),
                device: self.between.device(self.walletDevice),
                connectingBy: SimulatedNetwork(self.dialer, of: self.device),
                clock: self.clock,
                settings: walletSettings,
                observer: self.observer
            )
        } catch {
            throw .wallet(error)
        }
    }

    /// The device as the app sees it: with whatever stands in for a part of it.
    private var walletDevice: any Device {
        let device: any Device = self.hooks.isEmpty ? self.device : HookedDevice(self.device, self.hooks)
        guard self.behavior.asksPerson else { return device }
        return ManualPromptDevice(device, of: self.device, isHooked: self.hooks.biometric != nil)
    }

    private func drop() async {
        guard let wallet = self.wallet else { return }
        self.wallet = nil
        await wallet.close()
    }

    /// An app that was left by itself, as with Back or Close, is out of sight from then on.
    private func noteLeaving(_ wallet: Wallet) async {
        guard self.exitFlag.take(), !self.isInBackground else { return }
        await wallet.background()
        self.isInBackground = true
    }
}
