internal import Dispatch
internal import Glibc
internal import Synchronization

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

    /// Writes texts in order, and waits for the disk for as long as it takes, and for a reader up to the limit.
    ///
    /// Returns nil if all were written.
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
