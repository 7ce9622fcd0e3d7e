internal import Synchronization

/// The number of steps that are expected soon, because their calls were read and are being verified.
///
/// A commit waits briefly for these steps instead of leaving them to the next commit. An expected step may never
/// arrive, because its verification can fail.
package final class ExpectedSteps: Sendable {
    private let count = Atomic<Int>(0)

    package init() {}

    /// Records a call that becomes a step unless it fails; the caller must then call ``end()``.
    package func begin() { self.count.add(1, ordering: .relaxed) }

    /// Records that an expected step is about to be submitted, or never will be.
    package func end() { self.count.subtract(1, ordering: .relaxed) }

    /// Whether no step is expected.
    var isNone: Bool { self.count.load(ordering: .relaxed) == 0 }
}
