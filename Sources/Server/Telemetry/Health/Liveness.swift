internal import Dispatch
package import MetricsEndpoint
package import NIOCore
internal import Synchronization

/// Checks whether the parts of this process are alive, for `/livez` and the watchdog.
///
/// Each part is probed with a small operation within a time limit. A part whose probe has not been answered is not
/// probed again, and callers that ask frequently share the last result. Checks therefore cost a live server little, and
/// they do not pile up if it hangs.
package final class Liveness: Sendable {
    /// A quick operation that any live part can perform.
    ///
    /// Returns false if the part knows that it has failed.
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
        /// The last check and the time at which it ended, or nil while it is running.
        var look: (task: Task<[String], Never>, end: ContinuousClock.Instant?)?
    }

    private let patience: Duration
    private let freshness: Duration
    private let state = Mutex(State())

    /// - Parameters:
    ///   - patience: The time limit for a probe.
    ///   - freshness: How long a result is shared.
    package init(patience: Duration = .seconds(5), freshness: Duration = .seconds(1)) {
        self.patience = patience
        self.freshness = freshness
    }

    /// Adds a part, with a name that operators recognize.
    package func watch(_ name: String, _ probe: @escaping Probe) {
        self.state.withLock { $0.parts.append(Part(name, probe)) }
    }

    /// Removes a part.
    ///
    /// Must be called before the part is closed.
    package func forget(_ name: String) {
        self.state.withLock { state in state.parts.removeAll { $0.name == name } }
    }

    /// Adds all threads of an event loop group as one part.
    package func watch(_ name: String, _ group: any EventLoopGroup) {
        self.watch(name) {
            await withTaskGroup(of: Void.self) { loops in
                for loop in group.makeIterator() { loops.addTask { try? await loop.submit {}.get() } }
            }
            return true
        }
    }

    /// Returns the names of the parts that do not answer, empty if the process is healthy.
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
        // Must be an unstructured task, because a child task that never ends could not be abandoned.
        Task {
            let isAlive = await part.probe()
            part.isAsked.store(false, ordering: .releasing)
            source.yield(isAlive)
        }
        // Use a Dispatch timer, which fires even if all threads in the task pool are stuck.
        let limit = DispatchTimeInterval.nanoseconds(Int(self.patience / .nanoseconds(1)))
        DispatchQueue.global().asyncAfter(deadline: .now() + limit) { source.yield(false) }
        for await isAlive in answers { return isAlive }
        return false
    }
}

/// Watchdog notifications, based on the same checks as `/livez`.
extension Liveness {
    /// The number of checks per interval while a part is not answering.
    private static let looks = 10

    /// Checks all parts once per interval, and calls `alive` whenever all of them have answered.
    ///
    /// `alive` is not called before the first answers or while a part is silent. It is called promptly once the silent
    /// parts answer again. The method returns after the task is cancelled, within the time limit for one check.
    ///
    /// - Parameter stuck: Called with the silent parts, once per outage.
    package func watch(
        every interval: Duration,
        alive: @Sendable () -> Void,
        stuck: @Sendable ([String]) -> Void
    ) async {
        var isSilent = false
        while !Task.isCancelled {
            // Measured from the start of the check, so that a slow answer does not delay the next one.
            let next = ContinuousClock.now + interval
            let failures = await self.failures()
            if failures.isEmpty { alive() } else if !isSilent { stuck(failures) }
            isSilent = !failures.isEmpty
            let again = isSilent ? .now + interval / Self.looks : next
            guard (try? await Task.sleep(until: again, clock: .continuous)) != nil else { return }
        }
    }
}

extension ObservationSources {
    /// Creates the sources for a running server.
    package init(registry: MetricRegistry, liveness: Liveness, readiness: Readiness) {
        self.init(
            metrics: { Exposition.text(of: registry) },
            failures: { await liveness.failures() },
            readiness: { readiness.state },
            waitingReason: { readiness.reason }
        )
    }
}
