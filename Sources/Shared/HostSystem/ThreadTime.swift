internal import Glibc

/// The CPU time used by the calling thread.
package enum ThreadTime {
    /// The user and system time since the thread was started (CLOCK_THREAD_CPUTIME_ID, clock_gettime(2)).
    package static var cpu: Duration {
        var time = timespec()
        precondition(
            unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0,
            "every supported kernel has this clock"
        )
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
