import Synchronization

/// A random moment that is no matter of time: the n-th of the events that are reported, whichever that turns out to be.
final class Moment: Sendable {
    private let left: Mutex<Int>
    private let action: @Sendable () -> Void

    init(after events: Int, _ action: @escaping @Sendable () -> Void) {
        self.left = Mutex(events)
        self.action = action
    }

    /// An event has happened; at the n-th the action is done before this returns.
    func passes() {
        let isNow = self.left.withLock { left in
            left -= 1
            return left == 0
        }
        if isNow { self.action() }
    }
}
