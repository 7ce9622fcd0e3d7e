public import WalletFlows
internal import HostSystem
internal import Synchronization
public import Vocabulary

/// A complete wallet without a user interface, to be embedded in a host application (see docs/embedding.md for an
/// example).
///
/// Each method also does everything that follows from the call, including calls to the server, and returns the
/// resulting screen. Only one call runs at a time. User actions during another call are rejected with
/// ``WalletError/busy``, whereas resumes and links are handled after it.
public actor Wallet {
    private var app = AppStateMachine()
    private let engine: WalletEngine
    private let settings: Settings
    private let observer: @Sendable (WalletEvent) -> Void
    private var isBusy = false
    private let lockState = Broadcast(true)
    private let configuration: Broadcast<WalletConfiguration>
    /// Drops the keys on time while the app is in the background, even if the host does not call ``refresh()``.
    private var backgroundTimer: Task<Void, Never>?

    /// Opens the wallet stored on the disk.
    ///
    /// It is initially locked.
    ///
    /// - Parameters:
    ///   - disk: The wallet's files. No other process may use them at the same time.
    ///   - device: The phone, with its hardware key and keychain.
    ///   - dialer: Connects to the server.
    ///   - clock: The clock, or nil to use the system's. Tests and labs provide their own.
    ///   - settings: Texts, issuer, links and lock times.
    ///   - observer: Called for each event as it occurs, before the method that caused it returns. It must not block.
    public init(
        disk: any LocalDisk,
        device: any Device,
        dialer: TLSDialer,
        clock: (any WallClock)? = nil,
        settings: Settings = Settings(),
        observer: @escaping @Sendable (WalletEvent) -> Void = { _ in }
    ) throws(WalletError) {
        try self.init(
            disk: disk,
            device: device,
            connectingBy: dialer,
            clock: clock ?? SystemClock(),
            settings: settings,
            observer: observer
        )
    }

    /// Opens a wallet with any kind of dialer: TLS, a simulated network, or a test server.
    package init(
        disk: any LocalDisk,
        device: any Device,
        connectingBy dialer: any ServerDialer,
        clock: any WallClock,
        settings: Settings = Settings(),
        observer: @escaping @Sendable (WalletEvent) -> Void = { _ in }
    ) throws(WalletError) {
        do {
            let store = try LocalStore(disk)
            self.engine = try WalletEngine(
                store: store,
                device: device,
                dialer: dialer,
                clock: clock,
                settings: settings
            )
        } catch {
            throw WalletError(error)
        }
        self.configuration = Broadcast(WalletConfiguration(self.engine.store.serverState))
        self.settings = settings
        self.observer = observer
    }

    /// Deletes a wallet whose files are unusable (``StorageError/notAsWritten(_:)`` or ``StorageError/missing(_:)``).
    ///
    /// The server is not notified, since the wallet id cannot be read from damaged files. The user can revoke the
    /// wallet with its deletion code.
    public static func reset(disk: any LocalDisk, device: any Device) async throws(WalletError) {
        do { try await WalletEngine.reset(disk, device) } catch { throw WalletError(error) }
    }

    deinit { self.backgroundTimer?.cancel() }

    /// Launches the app (UC1.2/1.1a), which is initially locked.
    ///
    /// - Parameter link: The universal link that launched the app, if any. It is resolved after the unlock (PF2.7).
    public func launch(opening link: IncomingLink? = nil) async -> Screen {
        guard !self.isBusy else { return self.screen }
        self.engine.lock()
        self.noteChanges()
        return await self.run { app, facts in app.launch(facts, opening: link) }
    }

    /// Brings the app to the foreground (UC1.2/1.1b) after handling all timers that are due, such as the lock.
    ///
    /// If another call is in progress, the resume is handled right after it.
    public func resume(opening link: IncomingLink? = nil) async -> Screen {
        guard !self.isBusy else {
            self.app.noteResume(opening: link, self.engine.facts())
            return self.screen
        }
        return await self.run { app, facts in app.resume(facts, opening: link) }
    }

    /// Sends the app to the background.
    ///
    /// The time spent there determines whether the next ``resume(opening:)`` locks the app. The keys are dropped after
    /// that time even if the app is never resumed.
    public func background() {
        self.app.background(self.engine.facts())
        self.startBackgroundTimer()
    }

    /// Passes a universal link (PF2.7) to the running app.
    public func open(_ link: IncomingLink) async -> Screen { await self.resume(opening: link) }

    /// Sets or clears the host application's operation in progress.
    ///
    /// Links that arrive in the meantime have to wait (PF2.7/4).
    public func setHostSession(_ session: HostSession?) { self.engine.hostSession = session }

    /// Selects an action on the current screen.
    ///
    /// - Throws: ``WalletError/notOffered(_:)`` if the screen does not offer the action.
    public func perform(_ action: ActionID) async throws(WalletError) -> Screen {
        try await self.runIfOffered(.notOffered(action)) { app, facts in app.select(action, facts) }
    }

    /// Enters a PIN.
    ///
    /// - Throws: ``WalletError/noInput`` if the current screen does not ask for a PIN.
    public func enter(_ input: PINInput) async throws(WalletError) -> Screen {
        try await self.runIfOffered(.noInput) { app, facts in app.enter(input, facts) }
    }

    /// Presents an input to the open system prompt.
    ///
    /// This is needed only if the device does not answer prompts itself (see ``Device/answersPrompts``).
    ///
    /// - Throws: ``WalletError/noPrompt`` if no prompt is open.
    public func present(_ presentation: Presentation) async throws(WalletError) -> Screen {
        try await self.runIfOffered(.noPrompt) { app, facts in app.present(presentation, facts) }
    }

    /// Asks the user to confirm an action of the host application (PF2.4), and returns the screen that asks.
    ///
    /// The user confirms with the PIN or, with ``Settings/confirmsWithPrompt``, with the phone's prompt. The server is
    /// then asked for the wallet's status. The outcome is sent to the observer as ``AppEvent/confirmed(_:)`` or
    /// ``AppEvent/declined(_:)``, exactly once, unless the process ends before. A lock declines.
    ///
    /// The texts are only shown: they are not sent to the server, and nothing is signed.
    ///
    /// - Throws: ``WalletError/locked``, or ``WalletError/cannotConfirm`` if the app is in the background, shows a
    ///   prompt, or is already asking.
    public func confirm(_ confirmation: ConfirmationRequest) async throws(WalletError) -> Screen {
        guard self.engine.unlocked != nil else { throw .locked }
        return try await self.runIfOffered(.cannotConfirm) { app, facts in app.confirm(confirmation, facts) }
    }

    /// Opens the screen for a one-shot command.
    package func open(_ destination: AppDestination) async throws(WalletError) -> Screen {
        guard destination == .wipe || self.engine.unlocked != nil else { throw .locked }
        return try await self.runIfOffered(.locked) { app, facts in app.open(destination, facts) }
    }

    /// Handles all timers that are due and returns the current screen.
    ///
    /// Should be called several times per second.
    ///
    /// Timers dismiss screens, warn before the lock, and lock the app. In the background, only the keys are dropped.
    /// The rest of the lock, including the prompt, happens at the next ``resume(opening:)``.
    public func refresh() async -> Screen {
        self.dropKeysIfDue()
        guard !self.isBusy, let action = self.app.timeDue(self.engine.facts()) else { return self.screen }
        return await self.follow(action)
    }

    /// The current screen with up-to-date countdowns.
    public var screen: Screen { self.screen(in: self.settings.wording.language) }

    /// Returns the current screen in any language, for a comparison of the languages.
    package func screen(in language: Wording.Language) -> Screen {
        guard let scene = self.app.scene else { return .none }
        return Wording(language: language, product: self.settings.wording.product).screen(
            scene,
            at: self.engine.clock.now(),
            uptime: self.engine.device.uptime
        )
    }

    /// The reason why the current screen is not the one the user wanted to see, or nil if it is.
    public var obstacle: Obstacle? { self.app.scene?.obstacle }

    /// Whether the keys are not in memory.
    public var isLocked: Bool { self.engine.unlocked == nil }

    /// A stream with the current lock state, followed by its changes.
    ///
    /// Each caller gets a separate stream, which only buffers the newest value. It finishes when the wallet is
    /// deallocated.
    public nonisolated var lockStates: AsyncStream<Bool> { self.lockState.values() }

    /// A stream with the server's latest information, followed by its changes, buffered like ``lockStates``.
    public nonisolated var configurations: AsyncStream<WalletConfiguration> { self.configuration.values() }

    /// The progress of the setup.
    public var setup: SetupProgress { self.engine.facts().setup }

    /// The wallet id on the server, or nil before the setup and after a wipe.
    public var walletID: WalletID? { self.engine.store.state.registration?.walletID }

    /// Closes the connection to the server.
    ///
    /// The next call that needs a connection opens a new one.
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

    /// Executes the flows' requests until they show a screen.
    private func follow(_ first: AppStateMachine.Action) async -> Screen {
        self.isBusy = true
        defer { self.isBusy = false }
        var action = first
        // The device only answers each prompt once. The flow decides whether to show it again.
        var presented: Set<StepID> = []
        while true {
            self.reportSteps()
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
                self.startBackgroundTimer()
                return self.screen
            }
        }
    }

    private func startBackgroundTimer() {
        self.backgroundTimer?.cancel()
        self.backgroundTimer = Task { [weak self] in
            while let time = await self?.dropKeysIfDue(), !Task.isCancelled { try? await Task.sleep(for: time) }
        }
    }

    /// Drops the keys if the app has been in the background for too long.
    ///
    /// Returns the time until the next check, or nil if none is needed.
    @discardableResult
    private func dropKeysIfDue() -> Duration? {
        guard !self.isBusy else { return .seconds(1) }
        let facts = self.engine.facts()
        guard let time = self.app.timeToForget(facts) else { return nil }
        // The lower bound prevents a busy loop if the clock does not advance.
        guard time == .zero else { return max(time, .milliseconds(100)) }
        self.app.forget(facts)
        self.engine.lock()
        self.reportSteps()
        self.noteChanges()
        return nil
    }

    private func reportSteps() {
        for step in self.app.takeTrace() { self.observer(.step(step)) }
        for event in self.app.takeEvents() { self.observer(.event(event)) }
    }

    /// Reports a scene to the observer.
    ///
    /// Returns the next action if it does not need user input, or nil if the scene stays.
    private func next(after scene: Scene, _ presented: inout Set<StepID>) -> AppStateMachine.Action? {
        let facts = self.engine.facts()
        if let due = self.app.timeDue(facts) { return due }
        let screen = self.settings.wording.screen(scene, at: facts.now, uptime: facts.uptime)
        self.observer(.screen(screen, scene.obstacle))
        if scene.notice != nil { self.engine.noticeShown() }
        if self.settings.skipsSplash, case .some(.after) = scene.timer?.end { return self.app.timerFired(facts) }
        guard scene.prompt != nil, self.engine.device.answersPrompts, presented.insert(scene.step).inserted else {
            return nil
        }
        return self.app.present(.byDevice, facts)
    }

    /// Notifies the streams and the observer of any changes caused by an effect.
    private func noteChanges() {
        self.configuration.send(WalletConfiguration(self.engine.store.serverState))
        for finding in self.engine.takeFindings() { self.observer(.event(.tampering(finding))) }
        let isLocked = self.isLocked
        if self.lockState.send(isLocked) { self.observer(.locked(isLocked)) }
    }
}

/// The server's latest information about itself and this wallet.
///
/// This is for display only. It could have been sent by an impostor, so it must not be used for security decisions.
public struct WalletConfiguration: Hashable, Sendable {
    /// The rules for wrong PINs.
    ///
    /// The standard rules apply until the server has sent its own.
    public var attemptPolicy = AttemptPolicy.standard
    /// The features offered to this wallet, or nil if the server has not sent them yet.
    public var features: Features?
    /// The verdict on the installed app version, or nil if the server has not sent one yet.
    public var update: UpdateVerdict?
    /// Whether the whole solution is revoked, which affects all wallets.
    public var isSolutionRevoked = false

    init(_ state: CachedServerState) {
        if let policy = state.attemptPolicy { self.attemptPolicy = policy }
        self.features = state.lastFeatures
        self.update = state.lastUpdate?.verdict
        self.isSolutionRevoked = state.lastRevocation?.reason == .solution
    }
}

extension Wallet {
    /// Settings for the host application, all of which have sensible defaults.
    public struct Settings: Sendable {
        /// The language of the texts and the product name used in them.
        public var wording = Wording()
        /// Whether to skip the splash screen.
        public var skipsSplash = false
        /// The issuer that identifies the user (UC3.1).
        ///
        /// If nil, ``AppEvent/pidRequested`` is sent to the observer instead.
        public var issuer: (any PIDIssuer)?
        /// The URL below which the wallet's links lie (PF2.7), without a query.
        ///
        /// Schemes, hosts, ports and paths are compared in the normal form of RFC 3986. A base that is not a URL has no
        /// links.
        public var linkBase = "https://wallet.example.org/link"
        /// The time until the wallet locks itself.
        public var lockTimes = LockTimes()
        /// Whether the phone's prompt confirms the host's actions in the safe biometric mode, instead of the PIN.
        ///
        /// It applies to ``Wallet/confirm(_:)`` only. The server does not count the attempts at such a prompt.
        public var confirmsWithPrompt = false

        /// Whether the fallback mode requires the PIN once after a biometric was enrolled on the phone.
        ///
        /// The keychain items of biometrics that are turned on with this setting end with such an enrollment
        /// (``ItemAccess/enrolledNow``), and the next PIN creates another one. So a finger that somebody enrolled with
        /// the phone's passcode does not open the wallet before its owner has entered the PIN. It does not apply to the
        /// safe mode, nor to unlocking with the passcode of the phone.
        public var pinAfterEnrollment = false

        /// Creates the default settings.
        public init() {}
    }
}

/// A value whose changes can be followed by subscribers.
///
/// Each subscriber receives the current value first and then the newest one. A slow subscriber misses intermediate
/// values but never the latest.
final class Broadcast<Value: Hashable & Sendable>: Sendable {
    private struct State {
        var value: Value
        var subscribers: [Int: AsyncStream<Value>.Continuation] = [:]
        var nextID = 0
    }

    private let state: Mutex<State>

    init(_ value: Value) { self.state = Mutex(State(value: value)) }

    deinit {
        let subscribers = self.state.withLock { $0.subscribers.values.map(\.self) }
        for subscriber in subscribers { subscriber.finish() }
    }

    /// Sends the value to all subscribers, unless it equals the current value, and returns whether it was sent.
    @discardableResult
    func send(_ value: Value) -> Bool {
        self.state.withLock { state in
            guard value != state.value else { return false }
            state.value = value
            for subscriber in state.subscribers.values { subscriber.yield(value) }
            return true
        }
    }

    /// Returns a new stream for the caller.
    ///
    /// All streams finish when this object is deallocated.
    func values() -> AsyncStream<Value> {
        let (stream, subscriber) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(1))
        let id = self.state.withLock { state in
            defer { state.nextID += 1 }
            state.subscribers[state.nextID] = subscriber
            subscriber.yield(state.value)
            return state.nextID
        }
        subscriber.onTermination = { [weak self] _ in
            // This cannot deadlock, because we never finish a stream while holding the lock.
            _ = self?.state.withLock { $0.subscribers.removeValue(forKey: id) }
        }
        return stream
    }
}
