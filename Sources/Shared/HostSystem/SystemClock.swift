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
