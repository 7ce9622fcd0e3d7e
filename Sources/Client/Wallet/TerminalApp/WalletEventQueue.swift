internal import Synchronization
package import WalletCore

/// Hears the wallet from whatever thread it speaks on, until the app asks what there was.
package final class WalletEventQueue: Sendable {
    private struct State {
        var events: [WalletEvent] = []
        var report: String?
        var wake: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    package init() {}

    /// What the phone's observer calls.
    package func hear(_ event: WalletEvent) {
        let wake = self.state.withLock { state in
            state.events.append(event)
            return state.wake
        }
        wake?()
    }

    /// Something for the person that no screen says.
    package func report(_ text: String) {
        let wake = self.state.withLock { state in
            state.report = text
            return state.wake
        }
        wake?()
    }

    /// The last thing that was reported since the last call.
    func takeReport() -> String? {
        self.state.withLock { state in
            defer { state.report = nil }
            return state.report
        }
    }

    /// What was heard since the last call, in order.
    func take() -> [WalletEvent] {
        self.state.withLock { state in
            defer { state.events = [] }
            return state.events
        }
    }

    /// Calls `wake` whenever there is something to take.
    func onEvent(_ wake: @escaping @Sendable () -> Void) {
        self.state.withLock { $0.wake = wake }
    }
}
