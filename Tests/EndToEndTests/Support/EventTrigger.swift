import Synchronization

/// A random moment that does not depend on time: the n-th reported event, of any kind.
final class EventTrigger: Sendable {
    private let left: Mutex<Int>
    private let action: @Sendable () -> Void

    init(after events: Int, _ action: @escaping @Sendable () -> Void) {
        self.left = Mutex(events)
        self.action = action
    }

    /// Reports an event; at the n-th one the action is complete before this returns.
    func passes() {
        let isNow = self.left.withLock { left in
            left -= 1
            return left == 0
        }
        if isNow { self.action() }
    }
}
