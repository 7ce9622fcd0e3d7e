internal import Glibc

/// What the calling thread has used of a processor.
package enum ThreadTime {
    /// User and system time since the thread began (CLOCK_THREAD_CPUTIME_ID, clock_gettime(2)).
    package static var cpu: Duration {
        var time = timespec()
        precondition(
            unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0,
            "every kernel that this runs on has this clock"
        )
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
