internal import Dispatch
package import NIOCore
internal import Synchronization

/// Whether the parts of this process still answer; what `/livez` says, and what feeds a watchdog.
///
/// Each part is asked to do something small, and has to have done it in time. A part that has not answered is not asked
/// again until it has, and whoever asks often gets the last answer: asking costs a dead server nothing more, and a
/// live one little.
package final class Liveness: Sendable {
    /// Something that a live part does at once; false where it says itself that it is dead.
    package typealias Probe = @Sendable () async -> Bool

    private final class Part: Sendable {
        let name: String
        let probe: Probe
        let isAsked = Atomic<Bool>(false)

        init(_ name: String, _ probe: @escaping Probe) {
            self.name = name
            self.probe = probe
        }
    }

    private struct State {
        var parts: [Part] = []
        /// The last look, and when it was over; nil while it is not.
        var look: (task: Task<[String], Never>, end: ContinuousClock.Instant?)?
    }

    private let patience: Duration
    private let freshness: Duration
    private let state = Mutex(State())

    /// - Parameters:
    ///   - patience: how long a part may take.
    ///   - freshness: how long an answer serves everybody who asks.
    package init(patience: Duration = .seconds(5), freshness: Duration = .seconds(1)) {
        self.patience = patience
        self.freshness = freshness
    }

    /// Looks after one more part, under a name that an operator knows.
    package func watch(_ name: String, _ probe: @escaping Probe) {
        self.state.withLock { $0.parts.append(Part(name, probe)) }
    }

    /// Looks after a part no more, since it is being closed.
    package func forget(_ name: String) {
        self.state.withLock { state in state.parts.removeAll { $0.name == name } }
    }

    /// Looks after every thread of an event loop group.
    package func watch(_ name: String, _ group: any EventLoopGroup) {
        self.watch(name) {
            await withTaskGroup(of: Void.self) { loops in
                for loop in group.makeIterator() { loops.addTask { try? await loop.submit {}.get() } }
            }
            return true
        }
    }

    /// The names of the parts that do not answer; none where all is well.
    package func failures() async -> [String] {
        let task = self.state.withLock { state in
            if let look = state.look, look.end.map({ ContinuousClock.now - $0 < self.freshness }) ?? true {
                return look.task
            }
            let parts = state.parts
            let task = Task {
                let failures = await self.look(at: parts)
                self.state.withLock { $0.look?.end = .now }
                return failures
            }
            state.look = (task, nil)
            return task
        }
        return await task.value
    }

    private func look(at parts: [Part]) async -> [String] {
        await withTaskGroup(of: String?.self) { group in
            for part in parts { group.addTask { await self.isAlive(part) ? nil : part.name } }
            return await group.reduce(into: []) { failures, name in if let name { failures.append(name) } }.sorted()
        }
    }

    private func isAlive(_ part: Part) async -> Bool {
        let isFree = part.isAsked.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing)
        guard isFree.exchanged else { return false }
        let (answers, source) = AsyncStream.makeStream(of: Bool.self)
        // No child task: what does not answer could not be left behind.
        Task {
            let isAlive = await part.probe()
            part.isAsked.store(false, ordering: .releasing)
            source.yield(isAlive)
        }
        // On a thread of its own queue, so that the time passes also where all tasks' threads are stuck.
        let limit = DispatchTimeInterval.nanoseconds(Int(self.patience / .nanoseconds(1)))
        DispatchQueue.global().asyncAfter(deadline: .now() + limit) { source.yield(false) }
        for await isAlive in answers { return isAlive }
        return false
    }
}
