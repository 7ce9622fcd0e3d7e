/// What a watchdog is told; the same judge as for `/livez`.
extension Liveness {
    /// How often silent parts are looked at within one interval.
    private static let looks = 10

    /// Asks all parts at each interval, and says `alive` each time that all of them answered.
    ///
    /// Nothing is called alive before it has answered, nor while any part is silent; once the silent ones answer, at once.
    /// Returns when cancelled, at the latest after the patience for one look.
    ///
    /// - Parameter stuck: told once for each silence which parts did not answer.
    package func watch(
        every interval: Duration,
        alive: @Sendable () -> Void,
        stuck: @Sendable ([String]) -> Void
    ) async {
        var isSilent = false
        while !Task.isCancelled {
            // From the question on, so that a slow answer does not make the next one later.
            let next = ContinuousClock.now + interval
            let failures = await self.failures()
            if failures.isEmpty { alive() } else if !isSilent { stuck(failures) }
            isSilent = !failures.isEmpty
            let again = isSilent ? .now + interval / Self.looks : next
            guard (try? await Task.sleep(until: again, clock: .continuous)) != nil else { return }
        }
    }
}
