internal import Synchronization

/// Counts the steps that are expected soon because their calls have been read and are being verified.
///
/// A commit waits briefly for these steps instead of leaving them to the next commit. An expected step may never
/// arrive, because its verification can fail.
package final class ExpectedSteps: Sendable {
    private let count = Atomic<Int>(0)

    package init() {}

    /// Records a call that will become a step unless it fails.
    ///
    /// The caller must call ``end()`` afterwards.
    package func begin() { self.count.add(1, ordering: .relaxed) }

    /// Records that an expected step is about to be submitted, or that it will never be.
    package func end() { self.count.subtract(1, ordering: .relaxed) }

    /// Whether no step is expected.
    var isNone: Bool { self.count.load(ordering: .relaxed) == 0 }
}
