internal import Synchronization

/// Measures the longest time that a client had to wait between two answers, separately for each fault.
final class GapMeter: Sendable {
    private let longest = Mutex<Duration>(.zero)

    /// Records the time between two answers to the same client.
    func note(_ gap: Duration) { self.longest.withLock { $0 = max($0, gap) } }

    /// Returns the longest time recorded since the last call.
    func take() -> Duration {
        self.longest.withLock { longest in
            defer { longest = .zero }
            return longest
        }
    }
}
