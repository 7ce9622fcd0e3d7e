package import WalletFlows
internal import HostSystem
internal import Synchronization
package import Vocabulary
package import WalletCore

/// A simulated phone, consisting of its home, its device, and the app, which may or may not be running.
///
///     let phone = try Phone(PhoneHome("phone"), WalletSettings(lab: "lab"))
///     try await phone.perform(.launch())
///     try await phone.perform(.tap(.skip))
///     try await phone.perform(.enter(PINInput(typed: digits)))
///
/// The app's process is represented by a ``Wallet``. It is created from the contents of the home by a
/// ``PhoneAction/launch(_:)`` and released by ``endProcess()``. Calls run one at a time: a call made while another is
/// in progress waits and is not rejected. Every method returns the resulting screen.
package actor Phone {
    package nonisolated let home: PhoneHome
    package nonisolated let device: SimulatedDevice
    /// The server's host and port.
    package nonisolated let serverAddress: String

    private var settings: WalletSettings
    private let clock: any WallClock
    private let dialer: TLSDialer
    private let behavior: Behavior
    private let hooks: DeviceHooks
    private let wrappers: Wrappers
    private let observer: @Sendable (WalletEvent) -> Void
    private let actions: ActionObserver?
    private let exitFlag = AppExitFlag()

    /// The app's process, or nil if it is not running.
    private var wallet: Wallet?
    private var isInBackground = false
    /// Held by the call in progress.
    private let turn = AsyncLock()

    /// The behavior of the phone towards its caller.
    package struct Behavior: Hashable, Sendable {
        /// Whether to skip the splash screen, for scripts and scenarios.
        package var skipsSplash: Bool
        /// Whether prompts that a normal sensor would answer wait for ``PhoneAction/present(_:)`` instead.
        package var asksPerson: Bool

        package init(skipsSplash: Bool = false, asksPerson: Bool = false) {
            self.skipsSplash = skipsSplash
            self.asksPerson = asksPerson
        }
    }

    /// Opens the phone stored in the home, without launching the app.
    ///
    /// - Parameters:
    ///   - profile: The profile for a new phone. Ignored if the home already has one.
    ///   - behavior: How the phone behaves towards its caller.
    ///   - hooks: Programs that replace parts of the phone.
    ///   - wrappers: Wrappers for the disk and device of each wallet.
    ///   - actions: Called before and after each action.
    ///   - observer: Called for each event as it occurs, before the method that caused it returns.
    package init(
        _ home: PhoneHome,
        _ settings: WalletSettings,
        new profile: DeviceProfile = DeviceProfile(.android),
        _ behavior: Behavior = Behavior(),
        hooks: DeviceHooks = DeviceHooks(),
        wrappers: Wrappers = Wrappers(),
        actions: ActionObserver? = nil,
        observer: @escaping @Sendable (WalletEvent) -> Void = { _ in }
    ) throws(PhoneError) {
        self.home = home
        self.settings = settings
        let labClock = try settings.clock()
        self.clock = wrappers.clock(labClock)
        self.behavior = behavior
        self.hooks = hooks
        self.wrappers = wrappers
        self.actions = actions
        do {
            self.dialer = try TLSDialer(settings.server)
            self.device = try SimulatedDevice(
                folder: home.deviceFolder,
                authorityFolder: settings.authorityFolder ?? home.deviceFolder,
                clock: labClock,
                new: profile
            )
        } catch {
            throw PhoneError(error)
        }
        self.serverAddress = self.dialer.address
        let exitFlag = self.exitFlag
        self.observer = { event in
            exitFlag.note(event)
            observer(event)
        }
    }

    /// Performs an action and reports it to the observer of actions.
    @discardableResult
    package func perform(_ action: PhoneAction) async throws(PhoneError) -> Screen {
        switch action {
        case .launch(let link): return try await self.start(action, opening: link)
        case .resume(let link): return try await self.comeToFront(action, opening: link)
        case .open(let link): return try await self.comeToFront(action, opening: link)
        case .background:
            return try await self.act(action) { wallet in
                if !self.isInBackground { await wallet.background() }
                self.isInBackground = true
                return await wallet.screen
            }
        case .endProcess:
            await self.endProcess()
            return .none
        case .tap(let id): return try await self.inFront(action) { wallet in try await wallet.perform(id) }
        case .enter(let input): return try await self.inFront(action) { wallet in try await wallet.enter(input) }
        case .present(let presentation):
            return try await self.inFront(action) { wallet in try await wallet.present(presentation) }
        case .hostSession(let session):
            return try await self.act(action) { wallet in
                await wallet.setHostSession(session)
                return await wallet.screen
            }
        case .confirm(let request):
            return try await self.inFront(action) { wallet in try await wallet.confirm(request) }
        }
    }

    /// Starts the app's process as part of an action.
    private func start(_ action: PhoneAction, opening link: IncomingLink?) async throws(PhoneError) -> Screen {
        await self.turn.acquire()
        defer { self.turn.release() }
        self.actions?.begin(self.device.profile)
        await self.drop()
        let wallet: Wallet
        do throws(PhoneError) {
            wallet = try self.makeWallet()
        } catch {
            await self.end(action, hasEffect: false)
            throw error
        }
        self.wallet = wallet
        self.isInBackground = false
        let screen = await wallet.launch(opening: link)
        await self.noteLeaving(wallet)
        await self.end(action, hasEffect: true)
        return screen
    }

    private func end(_ action: PhoneAction, hasEffect: Bool) async {
        guard let actions else { return }
        let state = PhoneState(
            screen: await self.screen,
            obstacle: await self.obstacle,
            isLocked: await self.isLocked,
            isRunning: self.isRunning,
            isInFront: self.isInFront
        )
        actions.end(action, hasEffect ? state : nil, self.device.profile)
    }

    private func comeToFront(_ action: PhoneAction, opening link: IncomingLink?) async throws(PhoneError) -> Screen {
        guard self.isRunning else { return try await self.start(action, opening: link) }
        return try await self.act(action) { wallet in
            self.isInBackground = false
            return await wallet.resume(opening: link)
        }
    }

    /// Terminates the app's process, as an operating system may do in the background: without notice and without
    /// saving.
    package func endProcess() async {
        await self.turn.acquire()
        defer { self.turn.release() }
        guard self.isRunning else { return }
        self.actions?.begin(self.device.profile)
        await self.drop()
        await self.end(.endProcess, hasEffect: true)
    }

    /// Changes the texts, links or lock times, starting with the app's next process.
    ///
    /// The server and trust cannot be changed.
    package func configure(_ change: @Sendable (inout WalletSettings) -> Void) {
        change(&self.settings)
    }

    /// Deletes a wallet whose files are unusable (``PhoneError/needsReset``), without notifying the server.
    package func reset() async throws(PhoneError) {
        await self.turn.acquire()
        defer { self.turn.release() }
        await self.drop()
        do {
            try await Wallet.reset(disk: FolderDisk(folder: self.home.appFolder), device: self.walletDevice)
        } catch {
            throw PhoneError(error)
        }
    }

    /// Opens the screen for a one-shot command.
    @discardableResult
    package func goTo(_ destination: AppDestination) async throws(PhoneError) -> Screen {
        try await self.inFront(nil) { wallet in try await wallet.open(destination) }
    }

    /// Handles all timers that are due and returns the current screen.
    ///
    /// While another call is in progress, this method only returns the screen. In the background, the app's timers are
    /// paused until it is resumed, except that its keys are still dropped on time.
    @discardableResult
    package func refresh() async -> Screen {
        guard let wallet = self.wallet else { return .none }
        guard self.turn.acquireIfFree() else { return await wallet.screen }
        defer { self.turn.release() }
        let screen = await wallet.refresh()
        await self.noteLeaving(wallet)
        return screen
    }
}

// MARK: State

extension Phone {
    /// The current screen with up-to-date countdowns, or ``Screen/none`` if the app is not running.
    package var screen: Screen { get async { await self.wallet?.screen ?? .none } }

    package func screen(in language: Wording.Language) async -> Screen {
        await self.wallet?.screen(in: language) ?? .none
    }

    /// Whether the app is running, in the foreground or background.
    package var isRunning: Bool { self.wallet != nil }

    /// Whether the app is running in the foreground.
    package var isInFront: Bool { self.wallet != nil && !self.isInBackground }

    /// The language of the app's next process.
    package var language: Wording.Language { self.settings.wording.language }

    /// The reason why the current screen is not the one the user wanted to see, or nil if it is.
    package var obstacle: Obstacle? { get async { await self.wallet?.obstacle } }

    /// Whether the data key is not in memory; true if the app is not running.
    package var isLocked: Bool { get async { await self.wallet?.isLocked ?? true } }

    /// The progress of the setup, or nil if the app is not running.
    package var setup: SetupProgress? { get async { await self.wallet?.setup } }

    /// The wallet id on the server, or nil before the setup, after a wipe, or if the app is not running.
    package var walletID: WalletID? { get async { await self.wallet?.walletID } }
}

// MARK: One call at a time

extension Phone {
    /// Runs `body` with the app's wallet after all earlier calls have finished.
    private func act(
        _ action: PhoneAction?,
        _ body: (Wallet) async throws -> Screen
    ) async throws(PhoneError) -> Screen {
        await self.turn.acquire()
        defer { self.turn.release() }
        guard let wallet = self.wallet else { throw .notRunning }
        if action != nil { self.actions?.begin(self.device.profile) }
        do {
            let screen = try await body(wallet)
            await self.noteLeaving(wallet)
            if let action { await self.end(action, hasEffect: true) }
            return screen
        } catch {
            if let action { await self.end(action, hasEffect: false) }
            throw PhoneError(error)
        }
    }

    /// Runs `body` as a user action, which requires the app to be in the foreground.
    private func inFront(
        _ action: PhoneAction?,
        _ body: (Wallet) async throws -> Screen
    ) async throws(PhoneError) -> Screen {
        try await self.act(action) { wallet in
            guard !self.isInBackground else { throw PhoneError.inBackground }
            return try await body(wallet)
        }
    }

    private func makeWallet() throws(PhoneError) -> Wallet {
        var walletSettings = Wallet.Settings()
        walletSettings.wording = self.settings.wording
        walletSettings.skipsSplash = self.behavior.skipsSplash
        walletSettings.issuer = HookedIssuer(for: self.device, self.hooks) ?? SimulatedIssuer(for: self.device)
        walletSettings.lockTimes = self.settings.lockTimes
        walletSettings.pinAfterEnrollment = self.settings.pinAfterEnrollment
        walletSettings.confirmsWithPrompt = self.settings.confirmsWithPrompt
        if let linkBase = self.settings.linkBase { walletSettings.linkBase = linkBase }
        do {
            return try Wallet(
                disk: self.wrappers.disk(FolderDisk(folder: self.home.appFolder)),
                device: self.wrappers.device(self.walletDevice),
                connectingBy: SimulatedNetwork(
                    self.dialer,
                    of: self.device,
                    wait: self.wrappers.wait,
                    hold: self.wrappers.hold
                ),
                clock: self.clock,
                settings: walletSettings,
                observer: self.observer
            )
        } catch {
            throw PhoneError(error)
        }
    }

    /// The device used by the app: the simulated phone, with hooks and manual prompts if requested.
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

    /// Moves the app to the background if a flow has just left it, for example because the user chose Back or Close.
    private func noteLeaving(_ wallet: Wallet) async {
        guard self.exitFlag.take(), !self.isInBackground else { return }
        await wallet.background()
        self.isInBackground = true
    }
}

extension Phone {
    /// Wrappers for the disk and device of each wallet.
    ///
    /// Scenarios use them to simulate crashes, the phone's clock, and the time that passes while the simulated network
    /// delays an answer.
    package struct Wrappers: Sendable {
        package var disk: @Sendable (any LocalDisk) -> any LocalDisk
        package var device: @Sendable (any Device) -> any Device
        package var clock: @Sendable (any WallClock) -> any WallClock
        package var wait: SimulatedNetwork.Wait
        package var hold: SimulatedNetwork.Hold

        package init(
            disk: @escaping @Sendable (any LocalDisk) -> any LocalDisk = { $0 },
            device: @escaping @Sendable (any Device) -> any Device = { $0 },
            clock: @escaping @Sendable (any WallClock) -> any WallClock = { $0 },
            wait: @escaping SimulatedNetwork.Wait = SimulatedNetwork.realTime,
            hold: @escaping SimulatedNetwork.Hold = SimulatedNetwork.neverHeld
        ) {
            self.disk = disk
            self.device = device
            self.clock = clock
            self.wait = wait
            self.hold = hold
        }
    }
}

/// A simulated phone on which a person answers the prompts that the sensor would otherwise match.
///
/// If the sensor is set to behave differently, or there is a biometric hook, prompts are still answered by those.
struct ManualPromptDevice: DeviceWrapper {
    let wrapped: any Device
    private let simulated: SimulatedDevice
    private let isHooked: Bool

    /// - Parameters:
    ///   - device: The phone, with its hooks, if any.
    ///   - isHooked: Whether a program answers the prompts.
    init(_ device: any Device, of simulated: SimulatedDevice, isHooked: Bool) {
        self.wrapped = device
        self.simulated = simulated
        self.isHooked = isHooked
    }

    var answersPrompts: Bool {
        self.isHooked || (self.wrapped.answersPrompts && self.simulated.profile.sensor != .match)
    }
}

/// Records that the user has left the app from within a flow, for example with Back or Close.
///
/// Set by the wallet's observer and read by the phone.
final class AppExitFlag: Sendable {
    private let isSet = Mutex(false)

    func note(_ event: WalletEvent) {
        guard case .event(let event) = event, event == .suspended || event == .closed else { return }
        self.isSet.withLock { $0 = true }
    }

    /// Returns whether the app has left the foreground since the last call.
    func take() -> Bool {
        self.isSet.withLock { isSet in
            defer { isSet = false }
            return isSet
        }
    }
}
