internal import Synchronization
internal import WalletCore

/// Whether the app was left since somebody asked: heard from the wallet, asked by the phone.
final class AppExitFlag: Sendable {
    private let isLeft = Mutex(false)

    func note(_ event: WalletEvent) {
        guard case .event(let event) = event, event == .suspended || event == .closed else { return }
        self.isLeft.withLock { $0 = true }
    }

    func take() -> Bool {
        self.isLeft.withLock { isLeft in
            defer { isLeft = false }
            return isLeft
        }
    }
}
