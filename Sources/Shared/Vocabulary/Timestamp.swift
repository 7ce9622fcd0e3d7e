/// A point in time, in milliseconds since 1970-01-01T00:00:00Z.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970; negative before.
    public let milliseconds: Int64

    /// Creates a time from milliseconds since 1970-01-01T00:00:00Z.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// Returns whether the left time is earlier.
    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }

    /// Adds whole milliseconds; saturates at the last representable time.
    public static func + (time: Timestamp, duration: Duration) -> Timestamp {
        time.adding(milliseconds: duration.milliseconds)
    }

    /// Adds milliseconds without the division that a 128-bit `Duration` takes.
    public func adding(milliseconds: Int64) -> Timestamp {
        let (sum, overflow) = self.milliseconds.addingReportingOverflow(milliseconds)
        return Timestamp(milliseconds: overflow ? (milliseconds < 0 ? .min : .max) : sum)
    }

    /// The duration from `earlier` to this time; negative if this time is before it.
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

/// A source of the current time, which may belong to a server, a lab or a test.
public protocol WallClock: Sendable {
    /// The current time.
    func now() -> Timestamp
}
