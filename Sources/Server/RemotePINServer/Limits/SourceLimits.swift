/// How much of something one source may have: so much at once, and more as time goes by.
package struct Allowance: Hashable, Sendable {
    /// What may be had at once after a long silence, at least one.
    package let burst: Int
    /// After so much time one more may be had; in microseconds, at least one.
    let microsecondsEach: Int64

    /// - Precondition: `burst` and `interval` are greater than zero.
    package init(burst: Int, oneMoreEach interval: Duration) {
        let (seconds, attoseconds) = interval.components
        precondition(burst > 0 && interval > .zero && seconds < 1_000_000_000, "an allowance comes back some day")
        self.burst = burst
        self.microsecondsEach = max(1, seconds * 1_000_000 + attoseconds / 1_000_000_000_000)
    }

    /// So many in a time; nil where `count` is 0, which stands for no limit.
    package init?(_ count: Int, each time: Duration, burst: Int) {
        guard count > 0 else { return nil }
        self.init(burst: burst, oneMoreEach: max(time / count, .microseconds(1)))
    }
}

/// What one source may ask of the server; nil where there is no limit.
package struct SourceLimits: Hashable, Sendable {
    /// What a client is told to wait at least: less would be worth no answer.
    static let leastWait: Duration = .seconds(1)

    /// Calls on connections without a session, and, counted apart, calls on those with one.
    package var calls: Allowance?
    /// BeginEnrollment and Register.
    package var enrollments: Allowance?
    /// Deletion codes, over connections and through the portal; for load only, a code has 90 random bits.
    package var codes: Allowance
    /// For how long nothing is read from a connection whose call was refused for its source's sake.
    ///
    /// Who waits as it was told notices nothing; who does not is slowed down.
    package var pause: Duration
    /// Sources without a connection that are remembered.
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

/// Which limit of its source a call met.
enum SourceLimit: String, CaseIterable, Sendable {
    case calls
    case sessionCalls = "session_calls"
    case enrollments
    case codes
}
