package import HostSystem
internal import Synchronization
package import WalletCore

/// Shows a phone's app in a terminal and turns key presses into calls.
///
/// None of the wallet's rules are implemented here. Every key results in a single call to ``Phone``. While a call is in
/// progress, the display keeps updating, but other keys are ignored.
package actor TerminalApp {
    private let phone: Phone
    private let terminal: FullScreen
    private let events: WalletEventQueue
    private var painter: Painter
    private var picture = Picture(.none)
    /// The PIN digits typed so far.
    ///
    /// They are wiped after the sixth digit and whenever the screen changes.
    private var digits = WipedBuffer(capacity: 6)
    private var isLocked = true
    private var isDone = false
    /// The start of the call in progress.
    private var busySince: ContinuousClock.Instant?
    private var failure: PhoneError?
    private let wake: AsyncStream<Void>.Continuation
    private let wakeups: AsyncStream<Void>

    /// - Parameter events: The queue filled by the phone's observer.
    package init(_ phone: Phone, receiving events: WalletEventQueue, on terminal: FullScreen, _ palette: Palette) {
        self.phone = phone
        self.events = events
        self.terminal = terminal
        self.painter = Painter(palette)
        (self.wakeups, self.wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// Launches the app and handles keys until the user quits or the terminal is closed.
    ///
    /// The terminal is restored before this method returns or throws. It throws if the app cannot be launched.
    package func run(opening link: IncomingLink? = nil) async throws(PhoneError) {
        let wake = self.wake
        self.events.onEvent { wake.yield() }
        let keys = Task { [terminal] in
            for await _ in terminal.wakeups { wake.yield() }
        }
        // For countdowns, and for the app's timers.
        let ticks = Task {
            while !Task.isCancelled {
                wake.yield()
                try? await Task.sleep(for: .milliseconds(200))
            }
        }
        self.begin(.launch(link))
        for await _ in self.wakeups {
            await self.update()
            if self.isDone { break }
        }
        keys.cancel()
        ticks.cancel()
        self.digits.removeAll()
        self.terminal.close()
        if let failure = self.failure { throw failure }
    }

    /// Handles pending events and keys, then redraws.
    private func update() async {
        for event in self.events.take() { self.take(event) }
        self.show(await self.phone.refresh())
        if let report = self.events.takeReport() { self.picture.note = report }
        while !self.isDone, let event = self.terminal.next() {
            switch event {
            case .key(let key): self.press(key)
            case .redraw: self.painter.forget()
            case .ended: self.isDone = true
            }
        }
        await self.updateStatus()
        self.picture.isSlow = self.busySince.map { ContinuousClock.now - $0 > .seconds(1) } ?? false
        if !self.isDone { self.terminal.write(self.painter.paint(self.picture, self.terminal.size)) }
    }

    private func take(_ event: WalletEvent) {
        switch event {
        case .step, .screen: return
        case .event(let event): self.picture.note = self.picture.words.note(event) ?? self.picture.note
        case .locked(let isLocked):
            self.isLocked = isLocked
            if isLocked { self.picture.lock() }
        }
    }

    private func show(_ screen: Screen) {
        guard !screen.step.isEmpty else { return }
        if screen.step != self.picture.screen.step { self.digits.removeAll() }
        self.picture.show(screen)
    }

    /// Updates the phone's status line.
    private func updateStatus() async {
        self.picture.show(await PhoneStatus(self.phone, isLocked: self.isLocked))
        // A call may launch or terminate the app. Keep showing the last screen until it returns.
        if self.picture.isBusy { self.picture.place = .inFront }
    }

    /// Starts a call to the phone without blocking the display.
    private func begin(_ action: PhoneAction) {
        self.picture.isBusy = true
        self.busySince = .now
        self.picture.note = ""
        Task {
            do throws(PhoneError) {
                try await self.phone.perform(action)
                self.end(nil)
            } catch {
                self.end(error)
            }
        }
    }

    private func end(_ error: PhoneError?) {
        self.picture.isBusy = false
        self.busySince = nil
        if let error {
            self.picture.note = error.description
            if self.picture.screen.step.isEmpty {
                self.failure = error
                self.isDone = true
            }
        }
        self.wake.yield()
    }
}

// MARK: Keys

extension TerminalApp {
    private func press(_ key: Key) {
        if self.picture.link != nil { return self.edit(key) }
        if key == .character(UInt8(ascii: "q")) {
            self.isDone = true
            return
        }
        guard !self.picture.isBusy else { return }
        switch key {
        case .character(UInt8(ascii: "l")): self.picture.link = Picture.LinkEntry()
        case .character(UInt8(ascii: "b")): self.leaveOrReturn()
        case _ where self.picture.place == .inFront: self.pressOnScreen(key)
        case .enter: self.leaveOrReturn()
        case _: return
        }
    }

    private func pressOnScreen(_ key: Key) {
        let keys = self.picture.keys
        switch key {
        case .character(let byte):
            if keys.takesPIN, (0x30...0x39).contains(byte) { return self.type(byte) }
            if let target = keys.target(of: Character(UnicodeScalar(byte))) { self.hit(target) }
        case .backspace:
            self.digits.removeLast()
            self.picture.typed = self.digits.count
        case .up, .left: self.point(-1, among: keys.entries.count)
        case .down, .right, .tab: self.point(1, among: keys.entries.count)
        case .enter:
            if let selected = self.picture.selected, keys.entries.indices.contains(selected) {
                self.hit(keys.entries[selected].target)
            }
        case .escape:
            if let target = keys.wayBack { self.hit(target) }
        case .other: return
        }
    }

    private func point(_ step: Int, among count: Int) {
        guard count > 0 else { return }
        let first = step > 0 ? 0 : count - 1
        self.picture.selected = self.picture.selected.map { ($0 + step + count) % count } ?? first
    }

    private func hit(_ target: KeyMap.Target) {
        switch target {
        case .action(let action): self.begin(.tap(action))
        case .present(let presentation): self.begin(.present(presentation))
        }
    }

    /// Adds a digit.
    ///
    /// The sixth one submits the PIN, as on a phone.
    private func type(_ digit: UInt8) {
        guard self.digits.append(digit) else { return }
        self.picture.typed = self.digits.count
        guard self.digits.room == 0 else { return }
        let input = self.digits.withBytes { PINInput(typed: $0) }
        self.digits.removeAll()
        self.picture.typed = 0
        self.begin(.enter(input))
    }

    private func leaveOrReturn() {
        if self.picture.place == .inFront {
            self.digits.removeAll()
            self.picture.typed = 0
            self.begin(.background)
        } else {
            self.begin(.resume())
        }
    }

    /// Handles a key while a link is being typed.
    private func edit(_ key: Key) {
        guard var link = self.picture.link else { return }
        switch key {
        case .character(let byte) where link.text.count < 2000: link.text.unicodeScalars.append(UnicodeScalar(byte))
        case .backspace: link.text = String(link.text.dropLast())
        case .tab: link.source = link.source == .app ? .externalScanner : .app
        case .escape:
            self.picture.link = nil
            return
        case .enter:
            guard !self.picture.isBusy else { return }
            self.picture.link = nil
            self.begin(.open(IncomingLink(link.text, from: link.source)))
            return
        case _: return
        }
        self.picture.link = link
    }
}

/// Queues events and messages from any thread until the terminal app handles them.
package final class WalletEventQueue: Sendable {
    private struct State {
        var events: [WalletEvent] = []
        var report: String?
        var wake: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    package init() {}

    /// Adds an event; used as the phone's observer.
    package func add(_ event: WalletEvent) {
        let wake = self.state.withLock { state in
            state.events.append(event)
            return state.wake
        }
        wake?()
    }

    /// Sets a message to the user that is not part of a screen.
    package func report(_ text: String) {
        let wake = self.state.withLock { state in
            state.report = text
            return state.wake
        }
        wake?()
    }

    /// Returns the latest message since the last call, if any.
    func takeReport() -> String? {
        self.state.withLock { state in
            defer { state.report = nil }
            return state.report
        }
    }

    /// Returns all events since the last call, in order.
    func take() -> [WalletEvent] {
        self.state.withLock { state in
            defer { state.events = [] }
            return state.events
        }
    }

    /// Sets a function that is called after every addition.
    func onEvent(_ wake: @escaping @Sendable () -> Void) { self.state.withLock { $0.wake = wake } }
}
