internal import Dispatch
internal import Glibc

/// The end of this process, and of those that it started.
package enum ProcessEnd {
    /// Ends it here and now: nothing is finished, flushed or waited for.
    ///
    /// What was promised is durable before it is promised, so this loses answers and nothing else.
    package static func atOnce(status: Int32) -> Never { _exit(status) }

    /// Kills every process of a group; one that has none left is nobody's loss.
    package static func ofGroup(_ leader: Int32) {
        precondition(leader > 1, "0 and 1 mean this process's own group and everybody")
        kill(-leader, SIGKILL)
    }

    /// Has this process get SIGTERM once its standard input ends, which it does with whoever holds the other side.
    ///
    /// For a program that starts this one and may be killed itself: nothing else tells this one then. A parent's death signal
    /// (prctl(2)) would come with the end of the thread that forked.
    package static func followsInput() {
        DispatchQueue(label: "standard input").async {
            var buffer: [UInt8] = Array(repeating: 0, count: 512)
            while true {
                let count = unsafe read(STDIN_FILENO, &buffer, buffer.count)
                if count > 0 || (count < 0 && errno == EINTR) { continue }
                kill(getpid(), SIGTERM)
                return
            }
        }
    }
}
