internal import Synchronization

/// Counts the steps that are expected soon because their calls have been read and are being verified.
///
/// A commit waits briefly for these steps instead of leaving them to the next commit. An expected step may never
/// arrive, because its verification can fail.
///
/// Conversely, a verification may wait for the end of the commit in progress, because its step cannot join that commit.
package final class ExpectedSteps: Sendable {
    private struct Commit {
        var stepCount = 0
        var onEnd: [@Sendable () -> Void] = []
    }

    private let count = Atomic<Int>(0)
    private let commit = Mutex(Commit())

    package init() {}

    /// Records a call that will become a step unless it fails.
    ///
    /// The caller must call ``end()`` afterwards.
    package func begin() { self.count.add(1, ordering: .relaxed) }

    /// Records that an expected step is about to be submitted, or that it will never be.
    package func end() { self.count.subtract(1, ordering: .relaxed) }

    /// Whether no step is expected.
    var isNone: Bool { self.count.load(ordering: .relaxed) == 0 }

    /// Calls `body` when the commit in progress ends.
    ///
    /// Returns false, and does not call `body`, if no commit of at least this many steps is in progress.
    package func afterCommit(ofAtLeast stepCount: Int, _ body: @escaping @Sendable () -> Void) -> Bool {
        self.commit.withLock { commit in
            guard commit.stepCount >= stepCount else { return false }
            commit.onEnd.append(body)
            return true
        }
    }

    /// Records that a commit is in progress until `body` returns.
    package func commit(of stepCount: Int, _ body: () -> Void) {
        self.commit.withLock { $0.stepCount = stepCount }
        body()
        let waiting = self.commit.withLock { commit in
            defer { commit = Commit() }
            return commit.onEnd
        }
        for resume in waiting { resume() }
    }
}
