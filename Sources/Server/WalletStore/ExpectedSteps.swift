internal import Synchronization

/// The number of steps that are on their way to a store: their calls were read and are being verified.
///
/// A commit waits briefly for them instead of leaving them to the next one. An expected step need not follow, since
/// the verification may fail.
package final class ExpectedSteps: Sendable {
    private let count = Atomic<Int>(0)

    package init() {}

    /// Records a call that becomes a step unless it fails; ``end()`` must follow.
    package func begin() { self.count.add(1, ordering: .relaxed) }

    /// Records that the step follows at once, or never.
    package func end() { self.count.subtract(1, ordering: .relaxed) }

    /// True if no step is on its way.
    var isNone: Bool { self.count.load(ordering: .relaxed) == 0 }
}
