/// The time that passes, which does not depend on a wall clock; a simulator replaces it.
package struct PassingTime: Sendable {
    package var now: @Sendable () -> ContinuousClock.Instant = { .now }
    /// Waits; throws if the task is cancelled.
    package var sleepUntil: @Sendable (ContinuousClock.Instant) async throws -> Void = {
        try await Task.sleep(until: $0)
    }

    package init() {}

    /// Waits; throws if the task is cancelled.
    func sleep(for duration: Duration) async throws { try await self.sleepUntil(self.now() + duration) }
}
