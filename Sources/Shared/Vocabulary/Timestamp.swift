/// A point in time, in milliseconds since 1970-01-01T00:00:00Z.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970; negative before.
    public let milliseconds: Int64

    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }

    /// Whole milliseconds later; stays at the last point in time that there is instead of overflowing.
    public static func + (time: Timestamp, duration: Duration) -> Timestamp {
        time.adding(milliseconds: duration.milliseconds)
    }

    /// The same; what has milliseconds already saves the division that a `Duration` of 128 bits takes.
    public func adding(milliseconds: Int64) -> Timestamp {
        let (sum, overflow) = self.milliseconds.addingReportingOverflow(milliseconds)
        return Timestamp(milliseconds: overflow ? (milliseconds < 0 ? .min : .max) : sum)
    }

    /// How long after `earlier` this is; negative when it is before.
    public static func - (later: Timestamp, earlier: Timestamp) -> Duration {
        .milliseconds(later.milliseconds.subtractingReportingOverflow(earlier.milliseconds).partialValue)
    }
}

extension Duration {
    /// Whole milliseconds, rounded down.
    public var milliseconds: Int64 {
        let (seconds, attoseconds) = self.components
        return seconds.multipliedReportingOverflow(by: 1000).overflow
            ? (seconds < 0 ? .min : .max) : seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}

/// Says what time it is; the server's own, a lab's, or a test's.
public protocol WallClock: Sendable {
    /// The present time.
    func now() -> Timestamp
}
