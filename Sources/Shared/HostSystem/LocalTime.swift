internal import Glibc
package import Vocabulary

/// A point in time, in the machine's time zone.
package struct LocalTime: Hashable, Sendable {
    /// The day of the week, counting from 0 for Sunday.
    package let weekday: Int
    package let day: Int
    /// The month, from 1 to 12.
    package let month: Int
    package let year: Int
    /// Hours and minutes, such as `14:05`.
    package let clock: String
    private let time: Timestamp

    package init(_ time: Timestamp) {
        var seconds = time_t(time.milliseconds / 1000)
        var parts = unsafe tm()
        unsafe localtime_r(&seconds, &parts)
        self.time = time
        unsafe self.weekday = Int(parts.tm_wday)
        unsafe self.day = Int(parts.tm_mday)
        unsafe self.month = Int(parts.tm_mon) + 1
        unsafe self.year = Int(parts.tm_year) + 1900
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        unsafe self.clock = "\(two(parts.tm_hour)):\(two(parts.tm_min))"
    }

    /// Returns whether the weekday alone is enough to tell which day is meant.
    package func isWithinAWeek(of now: Timestamp) -> Bool {
        (Duration.zero..<Duration.seconds(6 * 24 * 3600)).contains(now - self.time)
    }
}
