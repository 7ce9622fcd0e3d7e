internal import Vocabulary

/// A remaining time as every language shows it: under a minute in seconds, else in minutes, both rounded up.
enum Countdown: Hashable {
    case seconds(Int64)
    case minutes(Int64)

    init(_ remaining: Duration) {
        let seconds = max(0, remaining.milliseconds.dividedRoundingUp(by: 1000))
        self = seconds < 60 ? .seconds(seconds) : .minutes(seconds.dividedRoundingUp(by: 60))
    }
}

/// A long time: in hours rounded up, and from two days on in whole days.
enum LongTime: Hashable {
    case hours(Int64)
    case days(Int64)

    init(_ duration: Duration) {
        let hours = max(1, duration.milliseconds.dividedRoundingUp(by: 3_600_000))
        self = hours < 48 ? .hours(hours) : .days(hours / 24)
    }
}

extension Int64 {
    /// Rounds up without a sum, which would overflow near the maximum: the server may send any number.
    fileprivate func dividedRoundingUp(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = self.quotientAndRemainder(dividingBy: divisor)
        return remainder > 0 ? quotient + 1 : quotient
    }
}
