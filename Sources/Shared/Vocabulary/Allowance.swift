internal import Synchronization

/// The amount of a resource that a source may use: a burst that is restored over time.
package struct Allowance: Hashable, Sendable {
    /// The amount available at once after a long pause, at least one.
    package let burst: Int
    /// The number of microseconds in which one use is restored, at least one.
    let microsecondsEach: Int64

    /// - Precondition: `burst` and `interval` are greater than zero.
    package init(burst: Int, oneMoreEach interval: Duration) {
        precondition(
            burst > 0 && interval > .zero && interval < .seconds(1_000_000_000),
            "an allowance is restored in finite time"
        )
        self.burst = burst
        self.microsecondsEach = max(1, interval.microseconds)
    }

    /// Allows `count` uses per `time`; returns nil if `count` is 0, which means no limit.
    package init?(_ count: Int, each time: Duration, burst: Int) {
        guard count > 0 else { return nil }
        self.init(burst: burst, oneMoreEach: max(time / count, .microseconds(1)))
    }
}

/// A source's allowance for one resource, stored as the time at which it is fully restored.
///
/// Each use moves that time forward by the time it takes to restore one use. A use is rejected if the time would then
/// be more than a whole burst ahead (the generic cell rate algorithm, ITU-T I.371). No counter has to be refilled, and
/// no lock is needed.
package struct Bucket: ~Copyable, Sendable {
    private let fullAt = Atomic<Int64>(.min)

    package init() {}

    /// Takes one use.
    ///
    /// If none is left, returns the time to wait.
    package func take(_ allowance: Allowance?, at now: Timestamp) -> Duration? {
        guard let allowance else { return nil }
        let (now, step) = (Self.microseconds(now), allowance.microsecondsEach)
        let room = Self.room(of: allowance)
        var seen = self.fullAt.load(ordering: .relaxed)
        while true {
            // A source never owes more than a whole burst, even if the clock was set back or the burst was longer
            // before.
            let owed = min(max(seen, now), now + room)
            let next = owed + step
            guard next <= now + room else {
                // Store the limited value, so that the wait returned below is correct. If another call came first, it
                // has stored the same value.
                // rule: server-debt-above-burst-kept
                if seen > owed { _ = self.fullAt.compareExchange(expected: seen, desired: owed, ordering: .relaxed) }
                return .microseconds(next - now - room)
            }
            let (exchanged, original) = self.fullAt.compareExchange(expected: seen, desired: next, ordering: .relaxed)
            if exchanged { return nil }
            seen = original
        }
    }

    /// Returns the number of microseconds until the allowance is fully restored.
    package func debt(_ allowance: Allowance?, at now: Timestamp) -> Int64 {
        guard let allowance else { return 0 }
        let now = Self.microseconds(now)
        return min(max(self.fullAt.load(ordering: .relaxed), now) - now, Self.room(of: allowance))
    }

    /// Returns the number of uses that are not yet restored.
    package func used(_ allowance: Allowance?, at now: Timestamp) -> Int {
        guard let each = allowance?.microsecondsEach else { return 0 }
        return Int((self.debt(allowance, at: now) + each - 1) / each)
    }

    private static func room(of allowance: Allowance) -> Int64 {
        let (room, overflow) = allowance.microsecondsEach.multipliedReportingOverflow(by: Int64(allowance.burst))
        return overflow ? Int64.max / 4 : min(room, Int64.max / 4)
    }

    /// Converts a time to microseconds, clamped to a range in which no addition overflows.
    private static func microseconds(_ time: Timestamp) -> Int64 {
        let limit = Int64.max / 4
        let (microseconds, overflow) = time.milliseconds.multipliedReportingOverflow(by: 1000)
        return overflow ? (time.milliseconds < 0 ? -limit : limit) : min(max(microseconds, -limit), limit)
    }
}
