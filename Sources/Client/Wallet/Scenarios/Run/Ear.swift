internal import Synchronization
internal import WalletCore
internal import WalletFlows

/// What a phone's wallet says while it works.
final class Ear: Sendable {
    private struct State {
        var trace: [String] = []
        var reached: [String] = []
        var events: [AppEvent] = []
    }

    private let state = Mutex(State())
    private let fate: MortalDisk.Fate

    init(_ fate: MortalDisk.Fate) {
        self.fate = fate
    }

    /// Notes it; a process that has died says nothing any more.
    func hear(_ event: WalletEvent) {
        guard !self.fate.isDead else { return }
        self.state.withLock { state in
            switch event {
            case .step(let step):
                state.trace.append(step.description)
                if !state.reached.contains(step.description) { state.reached.append(step.description) }
            case .event(let event):
                state.events.append(event)
            case .screen, .locked:
                return
            }
        }
    }

    /// The steps since ``forgetTrace()``.
    var trace: [String] { self.state.withLock(\.trace) }

    /// Every step that was ever taken, each once.
    var reached: [String] { self.state.withLock(\.reached) }

    /// A look at the trace ends here.
    func forgetTrace() { self.state.withLock { $0.trace = [] } }

    /// The events since the last call.
    func takeEvents() -> [AppEvent] {
        self.state.withLock { state in
            defer { state.events = [] }
            return state.events
        }
    }
}
