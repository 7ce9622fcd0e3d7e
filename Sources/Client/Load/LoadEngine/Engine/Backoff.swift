internal import LoadPlan

/// How long a connection that failed waits before it tries again: doubled each time, up to a limit, and never the same
/// for all, so that a server which comes back is not met by everybody at once.
struct Backoff {
    static let first: Duration = .milliseconds(50)
    static let longest: Duration = .seconds(2)

    private var next = Self.first

    /// After a failure.
    mutating func grow(using generator: inout PlanGenerator) -> Duration {
        defer { self.next = min(self.next * 2, Self.longest) }
        return self.next * (0.5 + generator.nextUnit() / 2)
    }

    /// After a success.
    mutating func reset() { self.next = Self.first }
}
