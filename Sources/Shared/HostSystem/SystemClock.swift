internal import Glibc
package import Vocabulary

/// The wall clock as it was at the start, and the time that has passed since.
///
/// What has passed is CLOCK_BOOTTIME: it runs on while the machine sleeps and nobody sets it, so a running server's
/// blocks do not end early because someone, or a time server, moved the wall clock.
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

    private static func milliseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        precondition(unsafe clock_gettime(clock, &time) == 0, "every kernel that this runs on has this clock")
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
