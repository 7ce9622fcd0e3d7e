internal import Glibc
internal import Synchronization

/// Writes the process's output: immediately and in full, or through a queue.
///
/// A write without a queue waits for a reader that pauses, but only up to a limit, so that a program ends even if
/// nothing reads its output.
package enum StandardStreams {
    // Whether a stream is written through its queue.
    private static let isOutputQueued = Atomic(false)
    private static let isErrorQueued = Atomic(false)
    private static let output = OpenOutput(takingOwnershipOf: STDOUT_FILENO, limit: StandardStreams.readerLimit)
    private static let error = OpenOutput(takingOwnershipOf: STDERR_FILENO, limit: StandardStreams.readerLimit)
    private static let queuedOutput = QueuedOutput(takingOwnershipOf: STDOUT_FILENO) { StandardStreams.noteLoss($0) }
    /// Standard error, written by a separate thread.
    package static let queuedError = QueuedOutput(takingOwnershipOf: STDERR_FILENO)
    /// The time that the end of the process allows for queued output.
    static let patience: Duration = .seconds(1)

    /// The time to wait for a reader, set by ``prepare(statusOfLostOutput:readerLimit:)``.
    private static let readerTime = Mutex<Duration?>(nil)
    /// A pipe that is closed when nothing should wait any longer.
    private static let waiting: (reading: Int32, writing: Int32) = {
        var ends: [Int32] = [-1, -1]
        unsafe pipe(&ends)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }()
    private static let isWaitingEnded = Atomic(false)
    static var readerLimit: ReaderLimit {
        ReaderLimit(time: self.readerTime.withLock(\.self), end: self.waiting.reading)
    }
    /// The exit status if output was given up because of a signal, as a shell reports it for SIGINT.
    private static let statusOfInterruption: Int32 = 128 + SIGINT

    /// The errno(3) that caused output to be lost, or 0 if none was lost.
    private static let loss = Atomic<Int32>(0)
    /// The exit status to use if output was lost.
    private static let statusOfLoss = Atomic<Int32>(0)

    /// Writes to standard output.
    ///
    /// Returns false if it was not written, for example because the reader has closed it, which does not count as lost
    /// output.
    @discardableResult
    package static func writeOutput(_ text: String) -> Bool {
        guard self.isOutputQueued.load(ordering: .relaxed) else {
            guard let failure = self.output.write([text]) else { return true }
            self.noteLoss(failure.code)  // rule: programs-lost-output-unreported
            return false
        }
        self.queuedOutput.write(text)
        return true
    }

    /// Writes to standard error; only use this for logs and text for the user, not for output that programs read.
    @discardableResult
    package static func writeError(_ text: String) -> Bool {
        guard self.isErrorQueued.load(ordering: .relaxed) else { return self.error.write([text]) == nil }
        self.queuedError.write(text)
        return true
    }

    /// Lets a separate thread write standard error, for programs whose progress must not wait for a reader.
    package static func queueErrors() { self.isErrorQueued.store(true, ordering: .relaxed) }

    /// Lets separate threads write both streams, for services.
    ///
    /// A service writes few lines to standard output, and none that a program must get in full.
    package static func queueAll() {
        self.isOutputQueued.store(true, ordering: .relaxed)
        self.queueErrors()
    }

    /// Ends all waits for readers, from now on.
    ///
    /// Call this when a signal asks the process to end.
    package static func stopWaiting() {
        guard !self.isWaitingEnded.exchange(true, ordering: .relaxed) else { return }
        close(self.waiting.writing)
    }

    /// Makes writes to a closed pipe fail instead of ending the process (signal(7), SIGPIPE).
    package static func ignoreBrokenPipes() { signal(SIGPIPE, SIG_IGN) }

    /// Prepares the standard streams.
    ///
    /// Programs must call this before anything else.
    ///
    /// - Missing streams are opened with an unusable descriptor (gnulib, stdopen). Otherwise, the next file we open
    ///   would get that number, and messages might be written to a store.
    /// - Writing to a pipe without a reader no longer ends the process (see ``ignoreBrokenPipes()``), and neither does
    ///   a write beyond the limit on file sizes, which fails with EFBIG instead (setrlimit(2), RLIMIT_FSIZE).
    /// - If standard output was lost, for example because of a full disk, the process reports it and exits with this
    ///   status, so that the user does not mistake partial output for complete output (gnulib, closeout). This
    ///   overrides the status passed to exit(3). If the reader closes the pipe, it does not want any more output, so
    ///   that does not count as a loss.
    /// - The same holds if nothing has read the output for a minute. There is no such limit if standard error is a
    ///   terminal, because a person may page through the output, and can interrupt the program.
    /// - A process that may not start its threads ends with a message (see ``ThreadLimit``).
    package static func prepare(statusOfLostOutput status: Int32, readerLimit: Duration = .seconds(60)) {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) == -1 {
            // open(2) returns the lowest free descriptor, which is this one.
            _ = unsafe open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
        self.readerTime.withLock { $0 = Terminal.isTerminal(STDERR_FILENO) ? nil : readerLimit }
        self.ignoreBrokenPipes()
        signal(SIGXFSZ, SIG_IGN)
        ThreadLimit.check()
        self.statusOfLoss.store(status, ordering: .relaxed)
        atexit {
            if fflush(nil) != 0 { StandardStreams.noteLoss(errno) }
            QueuedOutput.flushAll(within: StandardStreams.patience)
            let reason = StandardStreams.loss.load(ordering: .relaxed)
            guard reason != 0 else { return }
            if reason == ECANCELED { _exit(StandardStreams.statusOfInterruption) }
            StandardStreams.writeError("standard output is incomplete: \(StandardStreams.words(for: reason))\n")
            QueuedOutput.flushAll(within: StandardStreams.patience)
            _exit(StandardStreams.statusOfLoss.load(ordering: .relaxed))
        }
    }

    private static func words(for reason: Int32) -> String {
        guard reason == ETIMEDOUT, let time = self.readerTime.withLock(\.self) else {
            return SystemCall.text(of: reason)
        }
        return "nothing read it for \(time / .seconds(1)) seconds"
    }

    private static func noteLoss(_ reason: Int32) {
        if reason != EPIPE { self.loss.store(reason, ordering: .relaxed) }
    }
}
