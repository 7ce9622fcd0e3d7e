internal import Vocabulary

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

    /// Allows `count` uses per `time`.
    ///
    /// Returns nil if `count` is 0, which means no limit.
    package init?(_ count: Int, each time: Duration, burst: Int) {
        guard count > 0 else { return nil }
        self.init(burst: burst, oneMoreEach: max(time / count, .microseconds(1)))
    }
}

/// Limits on the requests from one source.
///
/// Nil means no limit.
package struct SourceLimits: Hashable, Sendable {
    /// The shortest delay that a refusal asks for.
    ///
    /// A shorter one would be over before the round trip.
    static let leastWait: Duration = .seconds(1)

    /// The limit on calls over connections without a session.
    ///
    /// Calls over connections with one have a separate limit of the same size.
    package var calls: Allowance?
    /// The limit on BeginEnrollment and Register.
    package var enrollments: Allowance?
    /// The limit on deletion codes, over connections and through the portal.
    ///
    /// It only serves to limit the load, because a code has 90 random bits.
    package var codes: Allowance
    /// The period during which the server stops reading from a connection after a rate-limited call.
    ///
    /// A client that waits as requested does not notice the pause, but any other client is slowed down.
    package var pause: Duration
    /// The number of sources without a connection to remember.
    package var remembered: Int

    package init(
        calls: Allowance? = Allowance(500, each: .seconds(1), burst: 5_000),
        enrollments: Allowance? = Allowance(60, each: .seconds(60), burst: 300),
        codes: Allowance = Allowance(burst: 20, oneMoreEach: .seconds(1)),
        pause: Duration = .seconds(1),
        remembered: Int = 65_536
    ) {
        self.calls = calls
        self.enrollments = enrollments
        self.codes = codes
        self.pause = pause
        self.remembered = remembered
    }
}

/// A per-source limit that a call exceeded.
enum SourceLimit: String, CaseIterable, Sendable {
    case calls
    case sessionCalls = "session_calls"
    case enrollments
    case codes
}
