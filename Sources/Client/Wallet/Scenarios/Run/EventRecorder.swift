internal import Synchronization
internal import WalletCore
internal import WalletFlows

/// Records events from a phone's wallet.
final class EventRecorder: Sendable {
    private struct State {
        var trace: [String] = []
        var ofStep: [String] = []
        var reached: [String] = []
        var events: [AppEvent] = []
    }

    private let state = Mutex(State())
    private let process: SimulatedProcess

    init(_ process: SimulatedProcess) {
        self.process = process
    }

    /// Records an event unless the process is dead.
    func record(_ event: WalletEvent) {
        guard !self.process.isDead else { return }
        self.state.withLock { state in
            switch event {
            case .step(let step):
                state.trace.append(step.description)
                state.ofStep.append(step.description)
                if !state.reached.contains(step.description) { state.reached.append(step.description) }
            case .event(let event):
                state.events.append(event)
            case .screen, .locked:
                return
            }
        }
    }

    /// The steps taken since ``clearTrace()`` was last called.
    var trace: [String] { self.state.withLock(\.trace) }

    /// All steps taken so far, without duplicates.
    var reached: [String] { self.state.withLock(\.reached) }

    /// Starts a new trace.
    ///
    /// Called after the current one has been compared.
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
