internal import Dispatch
internal import Glibc

/// Ends this process and its child processes.
package enum ProcessEnd {
    /// Ends this process immediately, without flushing or waiting for anything.
    ///
    /// The caller makes everything that it promises durable first, so only answers can be lost. `exit` is not suitable:
    /// libcrypto frees its tables in an exit handler, and other threads that still use them would crash and lose the
    /// status.
    package static func atOnce(status: Int32) -> Never { _exit(status) }

    /// Kills every process in a group.
    ///
    /// It is not an error if the group is empty.
    package static func ofGroup(_ leader: Int32) {
        precondition(leader > 1, "0 means this process's own group, and −1, the negative of 1, all processes")
        kill(-leader, SIGKILL)
    }

    /// Makes this process send itself a SIGTERM when its standard input ends, which happens when the process writing to
    /// it exits.
    ///
    /// This is for parents that may be killed, which this process would not notice otherwise. A parent-death signal
    /// (prctl(2)) would not work, because it is sent when the thread that forked exits rather than the parent process.
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
