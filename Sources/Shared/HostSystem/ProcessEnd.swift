internal import Dispatch
internal import Glibc

/// The end of this process and of its child processes.
package enum ProcessEnd {
    /// Ends this process immediately, without completing, flushing or awaiting anything.
    ///
    /// Promises are durable before they are made, so this loses answers and nothing else.
    package static func atOnce(status: Int32) -> Never { _exit(status) }

    /// Kills every process of a group; an empty group is not an error.
    package static func ofGroup(_ leader: Int32) {
        precondition(leader > 1, "0 means this process's own group, and −1, the negative of 1, all processes")
        kill(-leader, SIGKILL)
    }

    /// Arranges a SIGTERM for this process at the end of its standard input, which comes when the writer ends.
    ///
    /// It serves a parent that may be killed, since this process would not notice that otherwise. A parent-death
    /// signal (prctl(2)) would arrive when the forking thread ends, not the parent process.
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
