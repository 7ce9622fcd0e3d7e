internal import Vocabulary

/// A remaining time as displayed in every language: in seconds if it is less than a minute, otherwise in minutes,
/// rounded up.
enum Countdown: Hashable {
    case seconds(Int64)
    case minutes(Int64)

    init(_ remaining: Duration) {
        let seconds = max(0, remaining.milliseconds.dividedRoundingUp(by: 1000))
        self = seconds < 60 ? .seconds(seconds) : .minutes(seconds.dividedRoundingUp(by: 60))
    }
}

/// A long time, displayed in hours or, from two days on, in days.
///
/// Hours are rounded up.
enum LongTime: Hashable {
    case hours(Int64)
    case days(Int64)

    init(_ duration: Duration) {
        let hours = max(1, duration.milliseconds.dividedRoundingUp(by: 3_600_000))
        self = hours < 48 ? .hours(hours) : .days(hours / 24)
    }
}

extension Int64 {
    /// Rounds up without adding, which could overflow because the server may send any number.
    fileprivate func dividedRoundingUp(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = self.quotientAndRemainder(dividingBy: divisor)
        return remainder > 0 ? quotient + 1 : quotient
    }
}
