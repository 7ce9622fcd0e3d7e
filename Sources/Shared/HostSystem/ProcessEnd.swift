internal import Glibc

/// The end of this process.
public enum ProcessEnd {
    /// Ends it here and now: nothing is finished, flushed or waited for.
    ///
    /// What was promised is durable before it is promised, so this loses answers and nothing else.
    public static func atOnce(status: Int32) -> Never { _exit(status) }
}
