internal import Glibc
package import Vocabulary

/// A clock that reads the wall clock once when it is created, and then adds the time that has passed since then.
///
/// The elapsed time is measured with CLOCK_BOOTTIME, which cannot be set and keeps running while the machine is
/// suspended. This way, blocks do not end early on a running server if an operator or a time server changes the wall
/// clock.
package struct SystemClock: WallClock {
    private let start: Timestamp
    private let startOfBoottime: Int64

    /// Reads the wall clock, once.
    package init() {
        self.start = Timestamp(milliseconds: Self.milliseconds(CLOCK_REALTIME))
        self.startOfBoottime = Self.milliseconds(CLOCK_BOOTTIME)
    }

    package func now() -> Timestamp {
        self.start.adding(milliseconds: Self.milliseconds(CLOCK_BOOTTIME) - self.startOfBoottime)
    }

    /// The time at which the machine started, according to its present wall clock.
    ///
    /// The kernel computes the value in `/proc/stat` in the same way. That file is hidden from a service with systemd's
    /// `ProcSubset=pid`.
    package static var bootTime: Timestamp {
        Timestamp(milliseconds: Self.milliseconds(CLOCK_REALTIME) - Self.milliseconds(CLOCK_BOOTTIME))
    }

    private static func milliseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        precondition(unsafe clock_gettime(clock, &time) == 0, "every supported kernel has this clock")
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}

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

/// The CPU time used by the calling thread.
package enum ThreadTime {
    /// The user and system time since the thread was started (CLOCK_THREAD_CPUTIME_ID, clock_gettime(2)).
    package static var cpu: Duration {
        var time = timespec()
        precondition(unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0, "every supported kernel has this clock")
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
