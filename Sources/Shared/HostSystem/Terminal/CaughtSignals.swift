internal import Glibc
internal import Synchronization

/// The loss of the terminal (SIGHUP).
package enum Hangup {
    /// Whether the process ignores it, as under nohup(1), and must continue without a terminal.
    package static var isIgnored: Bool {
        var action = sigaction()
        unsafe sigaction(SIGHUP, nil, &action)
        return unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}

/// Converts signals to bytes on a pipe for the lifetime of the value.
///
/// By default, these are the signals that end or stop a process.
///
/// A signal handler may only call very few functions (signal-safety(7)) and runs on an arbitrary thread, so it only
/// writes the signal number. The reader of the pipe restores the terminal and then raises the signal again. Only one
/// value may exist at a time.
struct CaughtSignals: ~Copyable {
    let readEnd: Int32
    private let writeEnd: Int32
    private var previous: [(number: Int32, action: sigaction)] = []

    static let ending = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP]
    /// The descriptor that the handler writes to, or −1 if there is no reader.
    private static let target = Atomic<Int32>(-1)

    init(_ numbers: [Int32] = Self.ending) throws(InputError) {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw .failed(errno: errno) }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        self.readEnd = ends[0]
        self.writeEnd = ends[1]
        Self.target.store(ends[1], ordering: .sequentiallyConsistent)
        for number in numbers {
            var action = Self.action
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

    /// Returns the next signal, or the number that was sent to wake the reader.
    static func next(from readEnd: Int32) -> Int32? {
        var byte: UInt8 = 0
        return unsafe read(readEnd, &byte, 1) == 1 ? Int32(byte) : nil
    }

    /// Wakes the reader with 0, which is not a signal number.
    borrowing func wakeReader() {
        var byte: UInt8 = 0
        unsafe _ = write(self.writeEnd, &byte, 1)
    }

    consuming func release() {}

    /// Raises the signal with its default effect; returns if the process survives it.
    borrowing func raiseUncaught(_ number: Int32) {
        guard var previous = self.previous.first(where: { $0.number == number })?.action else { return }
        unsafe sigaction(number, &previous, nil)
        Self.raiseHere(number)
        var action = Self.action
        unsafe sigaction(number, &action, nil)
    }

    /// Raises a signal and returns once it has been delivered.
    ///
    /// This is necessary because the threads in libdispatch's pool block all signals.
    static func raiseHere(_ number: Int32) {
        var (wanted, previous) = (sigset_t(), sigset_t())
        unsafe sigemptyset(&wanted)
        unsafe sigaddset(&wanted, number)
        unsafe pthread_sigmask(SIG_UNBLOCK, &wanted, &previous)
        raise(number)
        unsafe pthread_sigmask(SIG_SETMASK, &previous, nil)
    }

    private static var action: sigaction {
        var action = sigaction()
        unsafe action.__sigaction_handler.sa_handler = { number in
            var byte = UInt8(truncatingIfNeeded: number)
            let code = errno
            unsafe _ = write(CaughtSignals.target.load(ordering: .sequentiallyConsistent), &byte, 1)
            errno = code
        }
        return action
    }
}

/// Restores the terminal if the process crashes because of a trap, a bad address or an abort.
///
/// All data for the handler is prepared in advance, because the handler must not allocate memory or take locks. It may
/// call tcsetattr(3) and write(2) (signal-safety(7)). After the handler returns, the faulting instruction runs again,
/// without a handler, and ends the process.
@safe struct CrashGuard: ~Copyable {
    @safe private struct Prepared {
        var descriptor: Int32
        var state: termios
        var text: UnsafeMutableBufferPointer<UInt8>
    }

    private static let crashes = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV]
    /// Nil if there is nothing to restore; only modified while no handler is installed.
    nonisolated(unsafe) private static var prepared: Prepared?

    private var previous: [(number: Int32, action: sigaction)] = []

    init(restoring state: termios, of descriptor: Int32, with text: String) {
        let bytes = Array(text.utf8)
        let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
        unsafe _ = copy.initialize(from: bytes)
        unsafe Self.prepared = Prepared(descriptor: descriptor, state: state, text: copy)
        for number in Self.crashes {
            var action = sigaction()
            action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
            unsafe action.__sigaction_handler.sa_handler = { _ in
                guard var prepared = unsafe CrashGuard.prepared else { return }
                unsafe tcsetattr(prepared.descriptor, TCSANOW, &prepared.state)
                unsafe _ = write(prepared.descriptor, prepared.text.baseAddress, prepared.text.count)
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
        unsafe Self.prepared?.text.deallocate()
        unsafe Self.prepared = nil
    }
}
