internal import Synchronization

/// A value that tasks share.
package final class Box<Value: Sendable>: Sendable {
    private let content: Mutex<Value>

    package init(_ value: Value) {
        self.content = Mutex(value)
    }

    package var value: Value {
        get { self.content.withLock { $0 } }
        set { self.content.withLock { $0 = newValue } }
    }
}
