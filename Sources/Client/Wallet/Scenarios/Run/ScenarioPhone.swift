internal import SimulatedPhone
internal import Synchronization
internal import Vocabulary
internal import WalletCore
internal import WalletFlows

/// A phone in a scenario, with its app, recorded events, and wallet id.
final class ScenarioPhone {
    let name: String
    let process = SimulatedProcess()
    let storage = PhoneStorage()
    let clock: PhoneClock
    let recorder: EventRecorder
    let phone: Phone
    /// The id of the most recent wallet on the phone.
    ///
    /// It is kept after a wipe, since the server can still be queried for it.
    private(set) var walletID: WalletID?
    private var picture = Picture(.none)
    /// The same picture in each language.
    private var pictures: [Wording.Language: Picture] = [:]
    private var wasLocked = true

    /// - Parameter home: The phone's home, or nil for one in `folder`.
    init(
        _ name: String,
        in home: PhoneHome? = nil,
        folder: String,
        world: World,
        profile: DeviceProfile
    ) throws(PhoneError) {
        self.name = name
        self.recorder = EventRecorder(self.process)
        self.clock = PhoneClock(try world.settings.clock())
        let (process, storage, recorder, clock) = (self.process, self.storage, self.recorder, self.clock)
        let home = if let home { home } else { try PhoneHome("\(folder)/\(name)") }
        self.phone = try Phone(
            home,
            world.settings,
            new: profile,
            Phone.Behavior(skipsSplash: true),
            wrappers: Phone.Wrappers(
                disk: { CrashingDisk($0, process, storage) },
                device: { CrashingDevice($0, process) },
                clock: { _ in clock },
                wait: world.wait,
                hold: world.hold
            ),
            observer: { recorder.record($0) }
        )
    }

    /// Changes the configuration, starting with the app's next process.
    func configure(_ configuration: AppConfiguration) async {
        await self.phone.configure { configuration.apply(to: &$0) }
    }

    /// Cleans up a dead process and updates the wallet id; called after every action.
    func settle() async {
        if self.process.isDead {
            await self.phone.endProcess()
            self.process.restart()
        }
        if let walletID = await self.phone.walletID { self.walletID = walletID }
        await self.updatePicture()
    }

    func currentPicture() async -> Picture {
        await self.updatePicture()
        return self.picture
    }

    /// Updates the picture like the terminal app does, which decides what can be seen behind a prompt.
    private func updatePicture() async {
        let isLocked = await self.phone.isLocked
        let hides = isLocked && !self.wasLocked
        self.picture.show(await self.phone.screen)
        if hides { self.picture.lock() }
        self.picture.show(await PhoneStatus(self.phone, isLocked: isLocked))
        // No user points at an action.
        self.picture.selected = nil
        for language in Wording.Language.allCases {
            var picture = self.pictures[language] ?? Picture(.none)
            picture.show(await self.phone.screen(in: language))
            if hides { picture.lock() }
            picture.show(await PhoneStatus(self.phone, isLocked: isLocked, in: language))
            picture.selected = nil
            self.pictures[language] = picture
        }
        self.wasLocked = isLocked
    }

    /// Returns the current screen in each language at each size of a ``ScreenFile``.
    func captures() async -> [ScreenFile.Capture] {
        await self.updatePicture()
        return Wording.Language.allCases.flatMap { language in
            self.pictures[language].map { ScreenFile.captures(of: $0, in: language) } ?? []
        }
    }

    /// Restores the app's data to another phone whose hardware key store and keychain are empty.
    func restore(_ change: DeviceChange) async throws(StepProblem) {
        await self.phone.endProcess()
        do {
            var profile = self.phone.device.profile
            change.apply(to: &profile)
            let changed = profile
            try self.phone.device.moveToAnotherPhone { $0 = changed }
        } catch {
            throw .failed("the app cannot be restored to this phone: \(error)")
        }
    }

    func checkCrash() throws(StepProblem) {
        guard let (number, _) = self.process.plannedCrash else { return }
        throw .failed("no step uses the app of the phone \(self.name) after `kill app` at write \(number)")
    }

    func checkConditions() throws(StepProblem) {
        let conditions = self.phone.device.profile.conditions
        guard conditions.isEmpty else {
            let list = conditions.map { "\($0)" }.joined(separator: ", ")
            throw .failed(
                "these conditions of the phone \(self.name) never happened: \(list); remove them, or end them with "
                    + "`device: {conditions: none}`"
            )
        }
    }
}

final class EventRecorder: Sendable {
    private struct State {
        var trace: [String] = []
        var ofStep: [String] = []
        var reached: [String] = []
        var events: [AppEvent] = []
    }

    private let state = Mutex(State())
    private let process: SimulatedProcess

    init(_ process: SimulatedProcess) { self.process = process }

    /// Records an event unless the process is dead.
    func record(_ event: WalletEvent) {
        guard !self.process.isDead else { return }
        self.state.withLock { state in
            switch event {
            case .step(let step):
                state.trace.append(step.description)
                state.ofStep.append(step.description)
                if !state.reached.contains(step.description) { state.reached.append(step.description) }
            case .event(let event): state.events.append(event)
            case .screen, .locked: return
            }
        }
    }

    /// The steps taken since ``clearTrace()`` was last called.
    var trace: [String] { self.state.withLock(\.trace) }

    /// All steps taken so far, without duplicates.
    var reached: [String] { self.state.withLock(\.reached) }

    /// Starts a new trace; called after the current one has been compared.
    func clearTrace() { self.state.withLock { $0.trace = [] } }

    /// Returns the flow steps taken since the last call, even if the trace was cleared in between.
    func takeStepsOfStep() -> [String] {
        self.state.withLock { state in
            defer { state.ofStep = [] }
            return state.ofStep
        }
    }

    /// The events that no call of ``forgetEvents(through:)`` has removed.
    var events: [AppEvent] { self.state.withLock(\.events) }

    /// Removes the events up to the one at this index, or all of them if it is nil.
    func forgetEvents(through index: Int? = nil) {
        self.state.withLock { state in state.events.removeFirst(index.map { $0 + 1 } ?? state.events.count) }
    }
}

/// A phone's clock.
///
/// It follows the lab's clock, but the owner can set it.
final class PhoneClock: WallClock {
    private let lab: any WallClock
    private let ahead = Mutex(Duration.zero)

    init(_ lab: any WallClock) { self.lab = lab }

    func now() -> Timestamp { self.lab.now() + self.ahead.withLock { $0 } }

    /// Sets the clock forward by a duration, or back by a negative one.
    func set(by change: Duration) { self.ahead.withLock { $0 += change } }
}
