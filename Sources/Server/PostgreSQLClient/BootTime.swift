internal import Glibc

/// The time since the machine started (CLOCK_BOOTTIME, clock_gettime(2)).
///
/// It cannot be set, and unlike CLOCK_MONOTONIC it goes on while the machine is suspended.
package enum BootTime {
    package static func now() -> Duration {
        var time = timespec()
        precondition(unsafe clock_gettime(CLOCK_BOOTTIME, &time) == 0, "every supported kernel has this clock")
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
