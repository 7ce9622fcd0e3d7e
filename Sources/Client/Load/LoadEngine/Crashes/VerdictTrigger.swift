internal import Synchronization

/// Runs an action at the moment the next verdict on a wrong PIN arrives.
///
/// A server that releases verdicts before they are durable makes them durable a fraction of a millisecond later. A kill
/// at a fixed time rarely falls into this gap, but a kill triggered by the verdict often does.
final class VerdictTrigger: Sendable {
    private let isArmed = Atomic(false)
    private let action = Mutex<(@Sendable () -> Void)?>(nil)

    /// Arranges for the action to run once, on the thread that the verdict arrives on.
    func arm(_ action: @escaping @Sendable () -> Void) {
        self.action.withLock { $0 = action }
        self.isArmed.store(true, ordering: .releasing)
    }

    func disarm() {
        self.isArmed.store(false, ordering: .releasing)
        self.action.withLock { $0 = nil }
    }

    /// Called with every verdict on a wrong PIN.
    ///
    /// Costs only one atomic load while disarmed.
    func fire() {
        guard self.isArmed.load(ordering: .relaxed) else { return }
        let action = self.action.withLock { action in
            defer { action = nil }
            return action
        }
        self.isArmed.store(false, ordering: .releasing)
        action?()
    }
}
