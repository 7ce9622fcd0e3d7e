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

    deinit { _ = self.state.withLock { $0.file.isFilled.signal() } }

    /// The number of lines that were dropped, or that could not be written.
    package var droppedCount: Int { self.state.withLock(\.queue.droppedCount) }

    /// Sets the text of the line that reports how many lines were dropped.
    package func reportDropped(by text: @escaping @Sendable (Int) -> String) {
        self.state.withLock { $0.report = text }
    }

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

/// The order in which queued lines are dropped if nothing reads them.
package enum LineImportance: Int, CaseIterable, Sendable {
    /// Dropped first.
    case low
    case normal
    /// Dropped last. A newer line replaces older ones of this importance.
    case high
}

/// Lines that wait to be written, within a limit of bytes.
///
/// If the limit is reached, the least important lines are dropped and counted.
struct OutputQueue {
    private struct Line {
        let number: UInt64
        let text: String
        var byteCount: Int { self.text.utf8.count }
    }

    /// The lines of each importance.
    private var lines = LineImportance.allCases.map { _ in LineRing<Line>() }
    private let capacity: Int
    private var byteCount = 0
    /// The number of the newest line.
    private(set) var newest: UInt64 = 0
    private var unreported = 0
    /// All lines that were dropped.
    private(set) var droppedCount = 0

    init(capacity: Int) { self.capacity = capacity }

    var isEmpty: Bool { self.lines.allSatisfy(\.isEmpty) }

    /// Adds a line and drops less important ones if there is no room, or drops this one.
    mutating func add(_ text: String, _ importance: LineImportance) {
        guard self.makeRoom(for: text.utf8.count, importance) else { return self.drop(1) }
        self.newest += 1
        self.lines[importance.rawValue].append(Line(number: self.newest, text: text))
        self.byteCount += text.utf8.count
    }

    mutating func drop(_ count: Int) {
        self.unreported += count
        self.droppedCount += count
    }

    /// Returns the number of dropped lines that are still to be reported, once half of the room is free.
    mutating func takeUnreported() -> Int {
        guard self.byteCount <= self.capacity / 2 else { return 0 }
        defer { self.unreported = 0 }
        return self.unreported
    }

    /// Restores a count whose report could not be written.
    mutating func putBack(unreported: Int) { self.unreported += unreported }

    /// Takes the oldest lines: at least one if there is any, and as many as fit in `limit` bytes.
    ///
    /// - Returns: The lines, and the number of the last one.
    mutating func takeFirst(upTo limit: Int) -> (texts: [String], last: UInt64) {
        var (texts, last, count): ([String], UInt64, Int) = ([], 0, 0)
        while let index = self.lines.indices.min(by: { self.firstNumber(at: $0) < self.firstNumber(at: $1) }),
            let line = self.lines[index].first, texts.isEmpty || count + line.byteCount <= limit
        {
            self.removeFirst(at: index)
            count += line.byteCount
            last = line.number
            texts.append(line.text)
        }
        return (texts, last)
    }

    /// Removes less important lines, and for a line of the highest importance older ones of it, until `count` bytes
    /// have room.
    private mutating func makeRoom(for count: Int, _ importance: LineImportance) -> Bool {
        let candidates = 0..<(importance == .high ? self.lines.count : importance.rawValue)
        while self.byteCount + count > self.capacity {
            guard let index = candidates.first(where: { !self.lines[$0].isEmpty }) else { return false }
            self.removeFirst(at: index)
            self.drop(1)
        }
        return true
    }

    private mutating func removeFirst(at index: Int) {
        if let line = self.lines[index].removeFirst() { self.byteCount -= line.byteCount }
    }

    private func firstNumber(at index: Int) -> UInt64 { self.lines[index].first?.number ?? .max }
}

/// A queue in an array, whose removed part is freed from time to time.
private struct LineRing<Element> {
    private var elements: [Element?] = []
    private var start = 0

    var isEmpty: Bool { self.start == self.elements.count }
    var first: Element? { self.isEmpty ? nil : self.elements[self.start] }

    mutating func append(_ element: Element) { self.elements.append(element) }

    mutating func removeFirst() -> Element? {
        guard !self.isEmpty else { return nil }
        let element = self.elements[self.start].take()
        self.start += 1
        if self.isEmpty || (self.start > 64 && self.start * 2 > self.elements.count) {
            self.elements.removeFirst(self.start)
            self.start = 0
        }
        return element
    }
}

/// An open file, pipe or terminal to which texts are written, such as lines.
///
/// Invariant: a text that was cut, for example by a full disk, is completed before the next one begins. Otherwise, one
/// line of a log would contain two, and none of them could be read.
final class OpenOutput: Sendable {
    /// A reason why some texts are lost or not complete yet.
    struct Failure {
        /// The errno(3).
        let code: Int32
        /// The number of texts of which nothing was written, and which are not kept.
        let lostCount: Int
    }

    /// The signal for the thread that writes to this file (``QueuedOutput``).
    let isFilled = DispatchSemaphore(value: 0)
    private let descriptor: Int32
    private let limit: ReaderLimit?

    private struct State {
        /// The rest of the last text, if that was cut.
        var rest: [UInt8] = []
        /// Whether the reader has taken nothing within the limit, so that further texts are lost at once.
        var isOverdue = false
    }

    private let state = Mutex(State())

    /// - Parameters:
    ///   - endsLine: Whether to begin a new line if a file for appending ends within one.
    ///   - limit: The limit on waiting for a reader, or nil for none.
    init(takingOwnershipOf descriptor: Int32, endsLine: Bool = false, limit: ReaderLimit? = nil) {
        self.descriptor = descriptor
        self.limit = limit
        if endsLine, Self.isWithinLine(descriptor) { self.state.withLock { $0.rest = [0x0A] } }
    }

    deinit {
        if self.descriptor > STDERR_FILENO { close(self.descriptor) }
    }

    /// Returns whether both lead to one file.
    func isSameFile(as other: OpenOutput) -> Bool {
        var (own, others) = (stat(), stat())
        guard unsafe fstat(self.descriptor, &own) == 0, unsafe fstat(other.descriptor, &others) == 0 else {
            return false
        }
        return own.st_dev == others.st_dev && own.st_ino == others.st_ino
    }

    /// Writes texts in order, and waits for the disk for as long as it takes, and for a reader up to the limit; returns
    /// nil if all were written.
    func write(_ texts: [String]) -> Failure? {
        self.state.withLock { state in
            var bytes = state.rest
            // The places at which the rest and each text end.
            var ends = [bytes.count]
            for text in texts {
                bytes += text.utf8
                ends.append(bytes.count)
            }
            var limit = self.limit
            if state.isOverdue { limit?.time = .zero }
            guard let (code, written) = SystemCall.write(bytes, to: self.descriptor, limit) else {
                state = State()
                return nil
            }
            state.isOverdue = code == ETIMEDOUT
            let index = ends.firstIndex { $0 > written } ?? texts.count
            let isCut = index == 0 || written > ends[index - 1]
            state.rest = isCut ? Array(bytes[written..<ends[index]]) : []
            return Failure(code: code, lostCount: texts.count - index + (isCut ? 0 : 1))
        }
    }

    /// Returns whether a regular file that is open for appending ends without a line feed.
    private static func isWithinLine(_ descriptor: Int32) -> Bool {
        var status = stat()
        // The descriptor itself is open for writing only.
        guard fcntl(descriptor, F_GETFL) & O_APPEND != 0, unsafe fstat(descriptor, &status) == 0,
            status.st_mode & S_IFMT == S_IFREG, status.st_size > 0,
            let file = try? Descriptor(opening: "/proc/self/fd/\(descriptor)", flags: O_RDONLY),
            let last = try? file.read(1, at: Int(status.st_size) - 1)
        else { return false }
        return last != [0x0A]
    }
}
