internal import Glibc
package import Vocabulary

/// A clock that reads the wall clock once, at the start, and adds the time that has passed since.
///
/// The elapsed time is CLOCK_BOOTTIME, which continues while the machine sleeps and cannot be set. The blocks of a
/// running server therefore do not end early if an operator or a time server moves the wall clock.
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
        precondition(unsafe clock_gettime(clock, &time) == 0, "every supported kernel has this clock")
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
