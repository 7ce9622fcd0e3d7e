internal import Synchronization
package import WalletCore

/// Queues events and messages from any thread until the terminal app handles them.
package final class WalletEventQueue: Sendable {
    private struct State {
        var events: [WalletEvent] = []
        var report: String?
        var wake: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    package init() {}

    /// Adds an event.
    ///
    /// Used as the phone's observer.
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
    func onEvent(_ wake: @escaping @Sendable () -> Void) {
        self.state.withLock { $0.wake = wake }
    }
}
