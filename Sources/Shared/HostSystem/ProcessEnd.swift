internal import Glibc

/// The end of this process, and of those that it started.
public enum ProcessEnd {
    /// Ends it here and now: nothing is finished, flushed or waited for.
    ///
    /// What was promised is durable before it is promised, so this loses answers and nothing else.
    public static func atOnce(status: Int32) -> Never { _exit(status) }

    /// Kills every process of a group; one that has none left is nobody's loss.
    public static func ofGroup(_ leader: Int32) {
        precondition(leader > 1, "0 and 1 mean this process's own group and everybody")
        kill(-leader, SIGKILL)
    }
}
