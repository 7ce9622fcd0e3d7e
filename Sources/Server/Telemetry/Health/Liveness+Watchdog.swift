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
