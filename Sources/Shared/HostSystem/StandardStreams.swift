internal import Glibc
internal import Synchronization

/// The process's output, written at once and in full.
package enum StandardStreams {
    /// Why output was lost, an error number (errno(3)); 0 while none was.
    private static let loss = Atomic<Int32>(0)
    /// What the process then ends with.
    private static let statusOfLoss = Atomic<Int32>(0)

    /// One that nobody reads any more is not an error of ours: false, and the caller may stop talking.
    @discardableResult
    package static func writeOutput(_ text: String) -> Bool { self.write(text, to: STDOUT_FILENO) }

    /// For people and logs, never for what a program reads.
    @discardableResult
    package static func writeError(_ text: String) -> Bool { self.write(text, to: STDERR_FILENO) }

    /// Keeps a closed pipe from ending the process: writing to one then fails instead (signal(7), SIGPIPE).
    package static func ignoreBrokenPipes() {
        signal(SIGPIPE, SIG_IGN)
    }

    /// Makes the streams fit to be used; a program's first act.
    ///
    /// - One that was started without gets a descriptor that cannot be used (gnulib, stdopen): the next file to be opened
    ///   would have its number, and what is meant for people would be written into a store.
    /// - A pipe that nobody reads does not end the process (``ignoreBrokenPipes()``).
    /// - Where any of the standard output was lost, to a full disk for example, the process says so and ends with this
    ///   status, since nobody should take half of it for the whole (gnulib, closeout). That holds for every end by
    ///   exit(3), whatever its status would have been. A reader that went away wanted no more, which is no loss.
    package static func prepare(statusOfLostOutput status: Int32) {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) == -1 {
            // The lowest number that is free, which is this one.
            _ = unsafe open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
        self.ignoreBrokenPipes()
        self.statusOfLoss.store(status, ordering: .relaxed)
        atexit {
            if fflush(nil) != 0 { StandardStreams.noteLoss(errno) }
            let reason = StandardStreams.loss.load(ordering: .relaxed)
            guard reason != 0 else { return }
            StandardStreams.writeError("standard output is incomplete: \(SystemCall.text(of: reason))\n")
            _exit(StandardStreams.statusOfLoss.load(ordering: .relaxed))
        }
    }

    private static func noteLoss(_ reason: Int32) {
        if reason != EPIPE { self.loss.store(reason, ordering: .relaxed) }
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
            guard count > 0 else {
                if descriptor == STDOUT_FILENO { self.noteLoss(errno) }
                return false
            }
            written += count
        }
        return true
    }
}
