public import DeviceInterface
public import HostSystem
public import Vocabulary
public import WalletFlows

/// The whole wallet without a screen: what a host application embeds (docs/embedding.md has a program).
///
/// Every method does all that follows from it, the server included, and returns the screen that is there then. One
/// runs at a time: what a person does meanwhile is refused with ``WalletError/busy``, what the phone does is noted.
public actor Wallet {
    private var app = AppStateMachine()
    private let engine: WalletEngine
    private let settings: Settings
    private let observer: @Sendable (WalletEvent) -> Void
    private var isBusy = false
    private let lockState = Broadcast(true)
    private let configuration: Broadcast<WalletConfiguration>
    /// Forgets the keys in time where nobody calls ``refresh()`` out of sight.
    private var watch: Task<Void, Never>?

    /// Takes up what the disk holds, locked.
    ///
    /// - Parameters:
    ///   - disk: The wallet's own files; no other process may use them meanwhile.
    ///   - clock: The host's own, or one that a test or a lab moves.
    ///   - observer: Hears everything as it happens, before the method that caused it returns.
    public init(
        disk: any LocalDisk,
        device: any Device,
        dialer: TLSDialer,
        clock: any WallClock = SystemClock(),
        settings: Settings = Settings(),
        observer: @escaping @Sendable (WalletEvent) -> Void = { _ in }
    ) throws(WalletError) {
        try self.init(
            disk: disk,
            device: device,
            connectingBy: dialer,
            clock: clock,
            settings: settings,
            observer: observer
        )
    }

    /// Creates a wallet that connects by any dialer: TLS, a simulated network, or a test's server.
    package init(
        disk: any LocalDisk,
        device: any Device,
        connectingBy dialer: any ServerDialer,
        clock: any WallClock = SystemClock(),
        settings: Settings = Settings(),
        observer: @escaping @Sendable (WalletEvent) -> Void = { _ in }
    ) throws(WalletError) {
        let store: LocalStore
        do throws(StorageError) {
            store = try LocalStore(disk)
        } catch {
            throw .storage(error)
        }
        self.engine = try WalletEngine(store: store, device: device, dialer: dialer, clock: clock, settings: settings)
        self.configuration = Broadcast(WalletConfiguration(store.serverState))
        self.settings = settings
        self.observer = observer
    }

    deinit {
        self.watch?.cancel()
    }

    /// A process of the app starts (UC1.2/1.1a): always locked.
    ///
    /// - Parameter link: What the phone started it with, if anything; resolved once the app is unlocked (PF2.7).
    public func launch(opening link: IncomingLink? = nil) async -> Screen {
        guard !self.isBusy else { return self.screen }
        self.engine.lock()
        self.noteChanges()
        return await self.run { app, facts in app.launch(facts, opening: link) }
    }

    /// The app comes back from the background (UC1.2/1.1b); what fell due meanwhile, the lock above all, happens first.
    ///
    /// While something else is under way it is done right after that.
    public func resume(opening link: IncomingLink? = nil) async -> Screen {
        guard !self.isBusy else {
            self.app.noteResume(opening: link)
            return self.screen
        }
        return await self.run { app, facts in app.resume(facts, opening: link) }
    }

    /// The app leaves the foreground; how long it is away decides whether the next ``resume(opening:)`` locks it first.
    ///
    /// When that time is over the keys are forgotten, whether or not the app ever comes back.
    public func background() {
        self.app.background(self.engine.facts())
        self.watchOutOfSight()
    }

    /// The phone hands over a universal link (PF2.7) to the app that is running.
    public func open(_ link: IncomingLink) async -> Screen {
        await self.resume(opening: link)
    }

    /// Says what the host application is in the middle of; a link that arrives meanwhile has to wait (PF2.7/4).
    public func setHostSession(_ session: HostSession?) {
        self.engine.hostSession = session
    }

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
    public func open(_ destination: AppDestination) async throws(WalletError) -> Screen {
        guard destination == .wipe || self.engine.unlocked != nil else { throw .locked }
        return try await self.runIfOffered(.locked) { app, facts in app.open(destination, facts) }
    }

    /// The present screen as it is now, countdowns computed anew; a host calls it a few times a second.
    ///
    /// What the time brings happens here: the end of a screen, the warning before the lock, the lock. Out of sight only the
    /// keys are forgotten: the rest of the lock, with its prompt, waits for the next ``resume(opening:)``.
    public func refresh() async -> Screen {
        self.forgetIfDue()
        guard !self.isBusy, let action = self.app.timeDue(self.engine.facts()) else { return self.screen }
        return await self.follow(action)
    }

    /// The present screen, with countdowns as of now.
    public var screen: Screen {
        guard let scene = self.app.scene else { return .none }
        return self.settings.wording.screen(scene, at: self.engine.clock.now())
    }

    /// What keeps the person from where they wanted to go, if anything does.
    public var obstacle: Obstacle? { self.app.scene?.obstacle }

    public var isLocked: Bool { self.engine.unlocked == nil }

    /// Whether the wallet is locked: now, and whenever that changes.
    ///
    /// Each caller gets a stream of its own. It holds the newest value alone and ends with the wallet.
    public nonisolated var lockStates: AsyncStream<Bool> { self.lockState.values() }

    /// What the server has said last: now, and whenever it says something else; as ``lockStates``.
    public nonisolated var configurations: AsyncStream<WalletConfiguration> { self.configuration.values() }

    /// How far the wallet is set up.
    public var setup: SetupProgress { self.engine.facts().setup }

    /// The wallet's id at the server; nil before the setup and after a wipe.
    public var walletID: WalletID? { self.engine.store.state.registration?.walletID.value }

    /// Ends the connection; the next thing that needs the server makes a new one.
    public func close() async { await self.engine.disconnect() }

    private func runIfOffered(
        _ error: WalletError,
        _ event: (inout AppStateMachine, Snapshot) -> AppStateMachine.Action?
    ) async throws(WalletError) -> Screen {
        guard !self.isBusy else { throw .busy }
        guard let action = event(&self.app, self.engine.facts()) else { throw error }
        return await self.follow(action)
    }

    private func run(_ event: (inout AppStateMachine, Snapshot) -> AppStateMachine.Action) async -> Screen {
        guard !self.isBusy else { return self.screen }
        return await self.follow(event(&self.app, self.engine.facts()))
    }

    /// Does what the flows ask for until there is a screen.
    private func follow(_ first: AppStateMachine.Action) async -> Screen {
        self.isBusy = true
        defer { self.isBusy = false }
        var action = first
        // A prompt that the device answers by itself is answered once; what it leads to is the flow's to say.
        var presented: Set<StepID> = []
        while true {
            self.tellSteps()
            switch action {
            case .show(let scene):
                guard let next = self.next(after: scene, &presented) else { return self.screen }
                action = next
            case .ask(let effect):
                if case .obtainPID = effect, self.settings.issuer == nil { self.observer(.event(.pidRequested)) }
                let answer = await self.engine.perform(effect)
                self.noteChanges()
                action = self.app.receive(answer, self.engine.facts())
            case .leave(let event, _):
                self.observer(.event(event))
                self.watchOutOfSight()
                return self.screen
            }
        }
    }

    private func watchOutOfSight() {
        self.watch?.cancel()
        self.watch = Task { [weak self] in
            while let time = await self?.forgetIfDue(), !Task.isCancelled { try? await Task.sleep(for: time) }
        }
    }

    /// Forgets the keys of an app that was out of sight for too long; when to look again, or nil where nothing is left to do.
    @discardableResult
    private func forgetIfDue() -> Duration? {
        guard !self.isBusy else { return .seconds(1) }
        let facts = self.engine.facts()
        guard let time = self.app.timeToForget(facts) else { return nil }
        // A clock that stands still keeps nobody busy.
        guard time == .zero else { return max(time, .milliseconds(100)) }
        self.app.forget(facts)
        self.engine.lock()
        self.tellSteps()
        self.noteChanges()
        return nil
    }

    private func tellSteps() {
        for step in self.app.takeTrace() { self.observer(.step(step)) }
        for event in self.app.takeEvents() { self.observer(.event(event)) }
    }

    /// Tells the observer of a scene; what follows it without anybody's doing, or nil where it stays.
    private func next(after scene: Scene, _ presented: inout Set<StepID>) -> AppStateMachine.Action? {
        let facts = self.engine.facts()
        if let due = self.app.timeDue(facts) { return due }
        self.observer(.screen(self.settings.wording.screen(scene, at: facts.now), scene.obstacle))
        if self.settings.skipsSplash, case .some(.after) = scene.timer?.end { return self.app.timerFired(facts) }
        guard scene.prompt != nil, self.engine.device.answersPrompts, presented.insert(scene.step).inserted else {
            return nil
        }
        return self.app.present(.byDevice, facts)
    }

    /// Tells the followers of what an effect may have changed.
    private func noteChanges() {
        self.configuration.send(WalletConfiguration(self.engine.store.serverState))
        let isLocked = self.isLocked
        if self.lockState.send(isLocked) { self.observer(.locked(isLocked)) }
    }
}
