internal import Synchronization
internal import WalletCore

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
