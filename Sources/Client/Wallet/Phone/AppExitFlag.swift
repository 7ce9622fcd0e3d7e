internal import Synchronization
internal import WalletCore

/// Records that the app left the foreground because of an event of the flows, such as Back or Close.
///
/// Set by the observer of the wallet, read by the phone.
final class AppExitFlag: Sendable {
    private let isSet = Mutex(false)

    func note(_ event: WalletEvent) {
        guard case .event(let event) = event, event == .suspended || event == .closed else { return }
        self.isSet.withLock { $0 = true }
    }

    /// Returns true if the app has left the foreground since the last call.
    func take() -> Bool {
        self.isSet.withLock { isSet in
            defer { isSet = false }
            return isSet
        }
    }
}
