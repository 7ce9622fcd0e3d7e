package import Dispatch

/// Runs work that blocks, such as a sync, in order and away from the threads of tasks; returns before the work is done.
///
/// A simulator decides when the work runs.
package typealias BlockingWork = @Sendable (_ work: @escaping @Sendable () -> Void) -> Void

extension DispatchQueue {
    /// Creates a serial queue for work that blocks.
    package static func blockingWork(_ label: String) -> BlockingWork {
        let queue = DispatchQueue(label: label)
        return { work in queue.async { work() } }
    }
}
