internal import Synchronization

/// Lies in wait for the next wrong PIN's verdict, and acts the moment it arrives.
///
/// A server that lets verdicts out before they are durable has them durable a fraction of a millisecond later. Killed by
/// the clock it is hardly ever caught in between; killed when the verdict arrives it often is.
final class VerdictTrigger: Sendable {
    private let isSet = Atomic(false)
    private let action = Mutex<(@Sendable () -> Void)?>(nil)

    /// Acts once, on whichever thread the verdict arrives.
    func set(_ action: @escaping @Sendable () -> Void) {
        self.action.withLock { $0 = action }
        self.isSet.store(true, ordering: .releasing)
    }

    func lift() {
        self.isSet.store(false, ordering: .releasing)
        self.action.withLock { $0 = nil }
    }

    /// Called with every wrong PIN's verdict; costs nothing while nobody lies in wait.
    func spring() {
        guard self.isSet.load(ordering: .relaxed) else { return }
        let action = self.action.withLock { action in
            defer { action = nil }
            return action
        }
        self.isSet.store(false, ordering: .releasing)
        action?()
    }
}
