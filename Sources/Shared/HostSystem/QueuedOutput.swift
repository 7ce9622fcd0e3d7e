internal import Dispatch
internal import Glibc
internal import Synchronization

/// Lines for a file, pipe or terminal, which a separate thread writes.
///
/// A caller never waits: if the reader has stopped or the disk hangs, lines queue up to a limit and are then dropped,
/// the least important first.
///
/// Threat: a server whose event loops write the log themselves stops every PIN check, and its own stop, when the
/// program that collects its log stops reading.
package final class QueuedOutput: Sendable {
    private struct State {
        var file: OpenOutput
        var queue = OutputQueue(capacity: QueuedOutput.capacity)
        /// Whether the thread waits for a line.
        var isIdle = false
        var waiters: [Waiter] = []
        var report: @Sendable (Int) -> String = { "\($0) lines were dropped, since nothing read them\n" }

        mutating func takeWaiters(upTo number: UInt64) -> [Waiter] {
            defer { self.waiters.removeAll { $0.number <= number } }
            return self.waiters.filter { $0.number <= number }
        }
    }

    /// A caller that waits until the line with this number is written.
    private struct Waiter {
        let number: UInt64
        let isWritten: DispatchSemaphore
    }

    /// The size of the queue in bytes: some minutes of a busy server's log.
    private static let capacity = 1 << 20
    /// The size of a write in bytes, unless a line is longer.
    ///
    /// A write to a pipe of at most this size is not mixed with those of other programs (pipe(7), PIPE_BUF).
    private static let writeSize = 4_096
    /// The outputs for which the end of this process waits.
    private static let all = Mutex<[Reference]>([])

    private let state: Mutex<State>
    private let onError: @Sendable (Int32) -> Void

    /// Takes an open descriptor, which is closed with this output unless it is a standard stream.
    ///
    /// - Parameter onError: Called with the errno(3) of each failed write.
    package init(takingOwnershipOf descriptor: Int32, onError: @escaping @Sendable (Int32) -> Void = { _ in }) {
        let file = OpenOutput(takingOwnershipOf: descriptor, endsLine: true)
        self.state = Mutex(State(file: file))
        self.onError = onError
        self.startThread(for: file)
        Self.all.withLock { all in
            all.removeAll { $0.output == nil }
            all.append(Reference(output: self))
        }
    }

    deinit {
        _ = self.state.withLock { $0.file.isFilled.signal() }
    }

    /// The number of lines that were dropped, or that could not be written.
    package var droppedCount: Int { self.state.withLock(\.queue.droppedCount) }

    /// Sets the text of the line that reports how many lines were dropped.
    package func reportDropped(by text: @escaping @Sendable (Int) -> String) {
        self.state.withLock { $0.report = text }
    }

    /// Queues a line.
    package func write(_ text: String, importance: LineImportance = .normal) {
        let idle: OpenOutput? = self.state.withLock { state in
            state.queue.add(text, importance)
            guard state.isIdle else { return nil }
            state.isIdle = false
            return state.file
        }
        idle?.isFilled.signal()
    }

    /// Writes later lines to another file, for example after log rotation.
    ///
    /// A thread that is blocked by the old file ends when its write does. Nothing changes if the path still leads to
    /// the same file, so that a pipe that nothing reads does not block a further thread with each reload.
    package func replace(takingOwnershipOf descriptor: Int32) {
        let file = OpenOutput(takingOwnershipOf: descriptor, endsLine: true)
        guard !self.state.withLock({ $0.file.isSameFile(as: file) }) else { return }
        // The earlier lines belong in the old file.
        self.flush(within: StandardStreams.patience)
        let old = self.state.withLock { state in
            defer { (state.file, state.isIdle) = (file, false) }
            return state.file
        }
        old.isFilled.signal()
        self.startThread(for: file)
    }

    /// Returns when all lines so far have been written or dropped, or after the time limit.
    package func flush(within limit: Duration) {
        let isWritten = DispatchSemaphore(value: 0)
        let mustWait = self.state.withLock { state in
            guard !state.isIdle || !state.queue.isEmpty else { return false }
            state.waiters.append(Waiter(number: state.queue.newest, isWritten: isWritten))
            return true
        }
        if mustWait { _ = isWritten.wait(timeout: .now() + .milliseconds(Int(limit / .milliseconds(1)))) }
    }

    /// Flushes all outputs of this process, together for at most `limit`.
    package static func flushAll(within limit: Duration) {
        let end = ContinuousClock.now + limit
        for output in self.all.withLock({ $0.compactMap(\.output) }) { output.flush(within: max(.zero, end - .now)) }
    }

    // MARK: - The thread

    private struct Lines {
        let texts: [String]
        /// The number of the last line.
        let last: UInt64
        /// The number of dropped lines to report before these ones.
        let dropped: Int
        let report: @Sendable (Int) -> String
    }

    private enum Work {
        case wait
        case write(Lines)
    }

    private func startThread(for file: OpenOutput) {
        // A serial queue whose work does not end has a thread to itself. The thread retains this object only while it
        // writes, so that an unused output is closed.
        DispatchQueue(label: "output").async { [weak self] in
            while let work = self?.nextWork(for: file) {
                switch work {
                case .wait: file.isFilled.wait()
                case .write(let lines): self?.write(lines, to: file)
                }
            }
        }
    }

    /// Returns nil if the file was replaced.
    private func nextWork(for file: OpenOutput) -> Work? {
        let (work, ready): (Work?, [Waiter]) = self.state.withLock { state in
            guard state.file === file else { return (nil, []) }
            guard !state.queue.isEmpty else {
                state.isIdle = true
                return (.wait, state.takeWaiters(upTo: .max))
            }
            let dropped = state.queue.takeUnreported()
            let (texts, last) = state.queue.takeFirst(upTo: Self.writeSize)
            return (.write(Lines(texts: texts, last: last, dropped: dropped, report: state.report)), [])
        }
        for waiter in ready { waiter.isWritten.signal() }
        return work
    }

    private func write(_ lines: Lines, to file: OpenOutput) {
        let isReported = lines.dropped == 0 || self.lostCount(of: [lines.report(lines.dropped)], to: file) == 0
        let lost = self.lostCount(of: lines.texts, to: file)
        let ready = self.state.withLock { state in
            if !isReported { state.queue.putBack(unreported: lines.dropped) }
            state.queue.drop(lost)
            return state.takeWaiters(upTo: lines.last)
        }
        for waiter in ready { waiter.isWritten.signal() }
    }

    /// Writes texts and returns how many of them are lost.
    private func lostCount(of texts: [String], to file: OpenOutput) -> Int {
        guard let failure = file.write(texts) else { return 0 }
        self.onError(failure.code)
        return failure.lostCount
    }

    private struct Reference {
        weak var output: QueuedOutput?
    }
}
