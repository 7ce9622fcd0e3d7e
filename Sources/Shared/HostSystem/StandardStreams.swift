internal import Glibc

/// The process's output, written at once and in full.
public enum StandardStreams {
    /// One that nobody reads any more is not an error of ours: false, and the caller may stop talking.
    @discardableResult
    public static func writeOutput(_ text: String) -> Bool { self.write(text, to: STDOUT_FILENO) }

    /// For people and logs, never for what a program reads.
    @discardableResult
    public static func writeError(_ text: String) -> Bool { self.write(text, to: STDERR_FILENO) }

    /// Keeps a closed pipe from ending the process: writing to one then fails instead (signal(7), SIGPIPE).
    public static func ignoreBrokenPipes() {
        signal(SIGPIPE, SIG_IGN)
    }

    private static func write(_ text: String, to descriptor: Int32) -> Bool {
        let bytes = Array(text.utf8)
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[written...])
                return unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            written += count
        }
        return true
    }
}
