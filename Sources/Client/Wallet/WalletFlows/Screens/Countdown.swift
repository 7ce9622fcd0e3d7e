internal import Vocabulary

/// A remaining time as displayed in every language, rounded up: in seconds below a minute, in minutes below two hours,
/// in hours below two days, and otherwise in days.
enum Countdown: Hashable {
    case seconds(Int64)
    case minutes(Int64)
    case hours(Int64)
    case days(Int64)

    init(_ remaining: Duration) {
        let seconds = max(0, remaining.milliseconds.dividedRoundingUp(by: 1000))
        let minutes = seconds.dividedRoundingUp(by: 60)
        let hours = minutes.dividedRoundingUp(by: 60)
        if seconds < 60 {
            self = .seconds(seconds)
        } else if minutes < 120 {
            self = .minutes(minutes)
        } else {
            self = hours < 48 ? .hours(hours) : .days(hours.dividedRoundingUp(by: 24))
        }
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
