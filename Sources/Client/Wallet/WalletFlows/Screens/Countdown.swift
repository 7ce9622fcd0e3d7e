internal import Vocabulary

/// A time that runs down, as every language shows it: under a minute in seconds, else in minutes, both rounded up.
enum Countdown: Hashable {
    case seconds(Int64)
    case minutes(Int64)

    init(_ remaining: Duration) {
        let seconds = max(0, remaining.milliseconds.dividedRoundingUp(by: 1000))
        self = seconds < 60 ? .seconds(seconds) : .minutes(seconds.dividedRoundingUp(by: 60))
    }
}

/// A time that nobody waits for: in hours rounded up, from two days on in days.
enum LongTime: Hashable {
    case hours(Int64)
    case days(Int64)

    init(_ duration: Duration) {
        let hours = max(1, duration.milliseconds.dividedRoundingUp(by: 3_600_000))
        self = hours < 48 ? .hours(hours) : .days(hours / 24)
    }
}

extension Int64 {
    /// Without the sum that a number near the greatest one would overflow: a server may say any.
    fileprivate func dividedRoundingUp(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = self.quotientAndRemainder(dividingBy: divisor)
        return remainder > 0 ? quotient + 1 : quotient
    }
}
