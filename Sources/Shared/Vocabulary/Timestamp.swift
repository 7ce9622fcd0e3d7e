internal import FoundationEssentials

/// A point in time, in milliseconds since 1970-01-01T00:00:00Z.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970.
    ///
    /// Negative for earlier times.
    public let milliseconds: Int64

    /// Creates a time from milliseconds since 1970-01-01T00:00:00Z.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Returns whether the left time is earlier than the right one.
    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }

    /// Adds a duration, rounded down to milliseconds.
    ///
    /// Saturates at the last representable time.
    package static func + (time: Timestamp, duration: Duration) -> Timestamp {
        time.adding(milliseconds: duration.milliseconds)
    }

    /// Adds milliseconds.
    ///
    /// This avoids the division required by a 128-bit `Duration`.
    package func adding(milliseconds: Int64) -> Timestamp {
        let (sum, overflow) = self.milliseconds.addingReportingOverflow(milliseconds)
        return Timestamp(milliseconds: overflow ? (milliseconds < 0 ? .min : .max) : sum)
    }

    /// Returns the duration from `earlier` to this time; negative if this time is earlier.
    package static func - (later: Timestamp, earlier: Timestamp) -> Duration {
        .milliseconds(later.milliseconds.subtractingReportingOverflow(earlier.milliseconds).partialValue)
    }
}

extension Timestamp {
    /// The time as ISO 8601 in UTC, with milliseconds.
    package var text: String {
        // The formatter truncates, so add half a millisecond to preserve the last digit.
        Date(timeIntervalSince1970: (Double(self.milliseconds) + 0.5) / 1000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// Parses ISO 8601, such as `2026-12-24` or `2026-12-24T18:00:00Z`, with or without fractional seconds.
    package init?(text: String) {
        let date =
            (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
            ?? (try? Date(text, strategy: Date.ISO8601FormatStyle()))
            ?? (try? Date(text, strategy: Date.ISO8601FormatStyle().year().month().day()))
        guard let milliseconds = date.map({ ($0.timeIntervalSince1970 * 1000).rounded() }), milliseconds >= 0,
            let whole = Int64(exactly: milliseconds)
        else { return nil }
        self.init(milliseconds: whole)
    }
}

extension Duration {
    /// The duration in whole milliseconds, rounded down; the longest that can be represented for a longer one.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = self.components
        let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1000)
        let (sum, overflow) = whole.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
        return isTooLong || overflow ? (seconds < 0 ? .min : .max) : sum
    }

    /// The duration in whole microseconds, rounded toward zero; at most 290,000 years.
    package var microseconds: Int64 {
        let (seconds, attoseconds) = self.components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }
}

extension Int64 {
    /// Divides and rounds up, without a sum that could overflow: the dividend may be any number that a peer sent.
    package func dividedRoundingUp(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = self.quotientAndRemainder(dividingBy: divisor)
        return remainder > 0 ? quotient + 1 : quotient
    }
}

/// A source of the current time, which can belong to a server, a lab or a test.
public protocol WallClock: Sendable {
    /// Returns the current time.
    func now() -> Timestamp
}
