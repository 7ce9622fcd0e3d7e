public import Devices
public import Presence
public import Vocabulary
public import WalletFlows

/// The whole wallet without a screen: what a host application embeds.
///
///     let wallet = try Wallet(disk: disk, device: device, dialer: dialer, clock: SystemClock())
///     var screen = await wallet.launch()              // UC2.3/1.3 "Open app with PIN", or where it must begin
///     screen = try await wallet.enter(PINInput(typed: digits))
///     screen = try await wallet.perform(.next)
///
/// Every method does all that follows from it, the server included, and returns the screen that is there then. One
/// runs at a time; a second one meanwhile is refused with ``WalletError/busy``.
public actor Wallet {
    private var app = AppStateMachine()
    private let custody: Custody
    private let settings: Settings
    private let observer: @Sendable (WalletEvent) -> Void
    /// When the present screen appeared, for those that end after a while.
    private var shownAt: Timestamp
    private var isBusy = false
    private var wasLocked = true

    /// Takes up what the disk holds, locked.
    ///
    /// - Parameters:
    ///   - disk: The wallet's own files; no other process may use them meanwhile.
    ///   - observer: Hears everything as it happens, before the method that caused it returns.
    public init(
        disk: any LocalDisk,
        device: any Device,
        dialer: any ServerDialer,
        clock: any WallClock,
        settings: Settings = Settings(),
        observer: @escaping @Sendable (WalletEvent) -> Void = { _ in }
    ) throws(WalletError) {
        let store: LocalStore
        do throws(StorageError) {
            store = try LocalStore(disk)
        } catch {
            throw .storage(error)
        }
        self.custody = try Custody(store: store, device: device, dialer: dialer, clock: clock, settings: settings)
        self.settings = settings
        self.observer = observer
        self.shownAt = clock.now()
    }

    /// A process of the app starts (UC1.2/1.1a): always locked.
    public func launch(opening link: IncomingLink? = nil) async -> Screen {
        self.custody.lock()
        return await self.run { app, facts in app.launch(facts, opening: link) }
    }

    /// The app comes back from the background (UC1.2/1.1b); what fell due meanwhile happens first.
    public func resume(opening link: IncomingLink? = nil) async -> Screen {
        _ = await self.refresh()
        return await self.run { app, facts in app.resume(facts, opening: link) }
    }

    /// The app leaves the foreground; what falls due meanwhile happens at the next ``resume(opening:)``.
    public func background() async {}

    /// Selects one of the present screen's actions.
    public func perform(_ action: ActionID) async throws(WalletError) -> Screen {
        try await self.runIfOffered(.notOffered(action)) { app, facts in app.select(action, facts) }
    }

    /// Enters a PIN where the present screen asks for one.
    public func enter(_ input: PINInput) async throws(WalletError) -> Screen {
        try await self.runIfOffered(.noInput) { app, facts in app.enter(input, facts) }
    }

    /// Says what is held to the phone while a prompt of the operating system is open.
    ///
    /// Only needed where the device does not answer prompts by itself.
    public func present(_ presentation: Presentation) async throws(WalletError) -> Screen {
        try await self.runIfOffered(.noPrompt) { app, facts in app.present(presentation, facts) }
    }

    /// Goes to what a one-shot command is named for.
    public func open(_ destination: AppStateMachine.Destination) async throws(WalletError) -> Screen {
        guard destination == .wipe || self.custody.unlocked != nil else { throw .locked }
        return try await self.runIfOffered(.locked) { app, facts in app.open(destination, facts) }
    }

    /// The present screen as it is now: countdowns computed anew, and left where its time is over.
    public func refresh() async -> Screen {
        guard let scene = self.app.scene, self.isDue(scene) else { return self.screen }
        return await self.run { app, facts in app.timerFired(facts) ?? .show(scene) }
    }

    /// The present screen, with countdowns as of now.
    public var screen: Screen {
        guard let scene = self.app.scene else { return .none }
        return self.settings.wording.screen(scene, at: self.custody.clock.now())
    }

    /// What keeps the person from where they wanted to go, if anything does.
    public var obstacle: Obstacle? { self.app.scene?.obstacle }

    public var isLocked: Bool { self.custody.unlocked == nil }

    /// How far the wallet is set up.
    public var setup: SetupProgress { self.custody.facts().setup }

    /// The wallet's id at the server; nil before the setup and after a wipe.
    public var walletID: WalletID? { self.custody.store.state.registration?.walletID.value }

    /// Ends the connection; the next thing that needs the server makes a new one.
    public func close() async { await self.custody.hangUp() }

    private func runIfOffered(
        _ error: WalletError,
        _ event: (inout AppStateMachine, Facts) -> AppStateMachine.Action?
    ) async throws(WalletError) -> Screen {
        guard !self.isBusy else { throw .busy }
        guard let action = event(&self.app, self.custody.facts()) else { throw error }
        return await self.follow(action)
    }

    private func run(_ event: (inout AppStateMachine, Facts) -> AppStateMachine.Action) async -> Screen {
        guard !self.isBusy else { return self.screen }
        return await self.follow(event(&self.app, self.custody.facts()))
    }

    /// Does what the flows ask for until there is a screen.
    private func follow(_ first: AppStateMachine.Action) async -> Screen {
        self.isBusy = true
        defer { self.isBusy = false }
        var action = first
        while true {
            for step in self.app.takeTrace() { self.observer(.step(step)) }
            for event in self.app.takeEvents() { self.observer(.event(event)) }
            switch action {
            case .show(let scene):
                self.shownAt = self.custody.clock.now()
                guard !self.isDue(scene), let screen = self.present(scene) else {
                    guard let next = self.app.timerFired(self.custody.facts()) else { return self.screen }
                    action = next
                    continue
                }
                return screen
            case .ask(let effect):
                let answer = await self.custody.perform(effect)
                self.noteLock()
                action = self.app.receive(answer, self.custody.facts())
            case .leave(let event, _):
                self.observer(.event(event))
                return self.screen
            }
        }
    }

    /// Tells the observer of a screen; nil for a splash that is skipped, which it is told of all the same.
    private func present(_ scene: Scene) -> Screen? {
        let screen = self.settings.wording.screen(scene, at: self.custody.clock.now())
        self.observer(.screen(screen, scene.obstacle))
        if self.settings.skipsSplash, case .some(.after) = scene.timer?.end { return nil }
        return screen
    }

    private func isDue(_ scene: Scene) -> Bool {
        switch scene.timer?.end {
        case .none: false
        case .some(.at(let end)): end <= self.custody.clock.now()
        case .some(.after(let duration)): self.shownAt + duration <= self.custody.clock.now()
        }
    }

    private func noteLock() {
        let isLocked = self.isLocked
        guard isLocked != self.wasLocked else { return }
        self.wasLocked = isLocked
        self.observer(.locked(isLocked))
    }
}

/// What an observer of a ``Wallet`` hears, in the order in which it happens.
public enum WalletEvent: Sendable {
    /// A step of the flows was taken.
    case step(StepID)
    /// A screen appeared; the obstacle says why it is not the one that was wanted.
    case screen(Screen, Obstacle?)
    /// Something for the host of the app.
    case event(AppEvent)
    /// The wallet was locked or unlocked.
    case locked(Bool)
}

/// Why a ``Wallet`` did not do what it was asked; nothing has changed.
public enum WalletError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Its files cannot be used.
    case storage(StorageError)
    /// The device states versions that are none.
    case deviceProfile
    /// Something else is under way: wait for it.
    case busy
    /// The present screen has no such action: look at its actions.
    case notOffered(ActionID)
    /// The present screen asks for no PIN.
    case noInput
    /// No prompt of the operating system is open.
    case noPrompt
    /// Unlock first.
    case locked

    public var description: String {
        switch self {
        case .storage(let error): "\(error)"
        case .deviceProfile: "the device's profile states versions that cannot be used"
        case .busy: "something else is under way"
        case .notOffered(let action): "the present screen does not offer \"\(action.rawValue)\""
        case .noInput: "the present screen asks for no PIN"
        case .noPrompt: "no prompt of the operating system is open"
        case .locked: "the wallet is locked"
        }
    }
}
