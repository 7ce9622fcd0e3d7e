internal import Glibc
internal import Synchronization

/// The terminal that a person sits at.
public enum Terminal {
    /// Whether a descriptor is one.
    public static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// How wide the terminal of the output is; nil where it is none.
    public static func columns(of descriptor: Int32 = 1) -> Int? {
        var size = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Asks for a line that does not appear on the screen, and lends it to `body` without its end.
    ///
    /// The terminal is as it was before on every way out: a line, the end of the input, an error, and the signals that
    /// end or stop a process. Those do first what they would have done anyway, with the terminal restored. One line is
    /// asked for at a time.
    public static func withHiddenLine<Result: ~Copyable>(
        prompt: String,
        from descriptor: Int32 = 0,
        atMost limit: Int,
        _ body: (RawSpan) -> Result
    ) throws(InputError) -> Result {
        guard self.isTerminal(descriptor) else { throw .notATerminal }
        var line = WipedBuffer(capacity: limit)
        while true {
            let signals = try CaughtSignals()
            let echo = try EchoOff(descriptor)
            StandardStreams.writeError(prompt)
            let event = try self.readLine(into: &line, from: descriptor, signals: signals)
            echo.restore()
            signals.release()
            switch event {
            case .line:
                return line.withBytes(body)
            case .signal(let number):
                line.removeAll()
                StandardStreams.writeError("\n")
                self.raiseHere(number)
                // Only a process that was stopped and continued, or that has a handler of its own, gets here.
                if number != SIGTSTP { throw .interrupted(signal: number) }
            }
        }
    }

    /// Raises a signal and returns once it was delivered: threads of libdispatch's pool block all of them.
    private static func raiseHere(_ number: Int32) {
        var (wanted, previous) = (sigset_t(), sigset_t())
        unsafe sigemptyset(&wanted)
        unsafe sigaddset(&wanted, number)
        unsafe pthread_sigmask(SIG_UNBLOCK, &wanted, &previous)
        raise(number)
        unsafe pthread_sigmask(SIG_SETMASK, &previous, nil)
    }

    private enum Event {
        case line
        case signal(Int32)
    }

    private static func readLine(
        into line: inout WipedBuffer,
        from descriptor: Int32,
        signals: borrowing CaughtSignals
    ) throws(InputError) -> Event {
        while true {
            var ready = [
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: signals.readEnd, events: Int16(POLLIN), revents: 0),
            ]
            let result = unsafe poll(&ready, 2, -1)
            if result < 0 {
                let code = errno
                if code == EINTR { continue }
                throw .failed(errno: code)
            }
            if ready[1].revents != 0, let number = signals.next() { return .signal(number) }
            if ready[0].revents == 0 { continue }
            var byte: UInt8 = 0
            let count = unsafe read(descriptor, &byte, 1)
            if count < 0 {
                let code = errno
                if code == EINTR || code == EAGAIN { continue }
                throw .failed(errno: code)
            }
            if count == 0 { throw .ended }
            if byte == 0x0A { return .line }
            guard line.append(byte) else {
                tcflush(descriptor, TCIFLUSH)
                throw .tooLong
            }
        }
    }
}

/// A terminal that shows nothing that is typed, until the value goes.
private struct EchoOff: ~Copyable {
    private let descriptor: Int32
    private var saved = termios()

    init(_ descriptor: Int32) throws(InputError) {
        self.descriptor = descriptor
        guard unsafe tcgetattr(descriptor, &self.saved) == 0 else { throw .failed(errno: errno) }
        var silent = self.saved
        silent.c_lflag &= ~tcflag_t(ECHO)
        silent.c_lflag |= tcflag_t(ICANON | ISIG | ECHONL)
        // Flushes: what was typed before the prompt was not meant for it.
        guard unsafe tcsetattr(descriptor, TCSAFLUSH, &silent) == 0 else { throw .failed(errno: errno) }
    }

    deinit {
        var saved = self.saved
        unsafe tcsetattr(self.descriptor, TCSANOW, &saved)
    }

    consuming func restore() {}
}

/// The signals that end or stop a process, turned into bytes of a pipe until the value goes.
///
/// A handler may do next to nothing (signal-safety(7)) and runs on any thread, so it only writes the signal's number;
/// whoever reads the line restores the terminal and then raises the signal again.
private struct CaughtSignals: ~Copyable {
    let readEnd: Int32
    private let writeEnd: Int32
    private var previous: [(number: Int32, action: sigaction)] = []

    private static let caught = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP]
    /// Where the handler writes; −1 while nobody reads.
    private static let target = Atomic<Int32>(-1)

    init() throws(InputError) {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw .failed(errno: errno) }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        self.readEnd = ends[0]
        self.writeEnd = ends[1]
        Self.target.store(ends[1], ordering: .sequentiallyConsistent)
        for number in Self.caught {
            var action = sigaction()
            unsafe action.__sigaction_handler.sa_handler = { number in
                var byte = UInt8(truncatingIfNeeded: number)
                let code = errno
                unsafe _ = write(CaughtSignals.target.load(ordering: .sequentiallyConsistent), &byte, 1)
                errno = code
            }
            var old = sigaction()
            if unsafe sigaction(number, &action, &old) == 0 { self.previous.append((number, old)) }
        }
    }

    deinit {
        for (number, action) in self.previous {
            var action = action
            unsafe sigaction(number, &action, nil)
        }
        Self.target.store(-1, ordering: .sequentiallyConsistent)
        close(self.readEnd)
        close(self.writeEnd)
    }

    /// The first signal that came and was not asked for yet.
    borrowing func next() -> Int32? {
        var byte: UInt8 = 0
        return unsafe read(self.readEnd, &byte, 1) == 1 ? Int32(byte) : nil
    }

    consuming func release() {}
}
