internal import Glibc
internal import Synchronization
internal import Vocabulary

/// An event from a full-screen terminal.
package enum TerminalEvent: Hashable, Sendable {
    case key(Key)
    /// Redraw everything, because the size has changed or the process has continued after a stop.
    case redraw
    /// The last event.
    ///
    /// Either the input has ended, or a terminating signal arrived but did not end the process.
    case ended
}

/// A terminal that the program takes over completely until it closes it.
///
/// Keys arrive one by one and are not echoed.
///
/// The terminal is always restored: by ``close()``, on deinit, on signals that end or stop the process, and after a
/// crash. Only SIGKILL prevents that. When the process continues after a stop, it takes over the terminal again. Until
/// ``next()`` is called, typed bytes are kept in a single buffer that is wiped, so that no other trace of a PIN is left
/// here.
package final class FullScreen: Sendable {
    private struct State: ~Copyable {
        var saved = termios()
        /// Whether the program has taken over the terminal.
        var isTaken = false
        var typed = WipedBuffer(capacity: 4096)
        /// Whether no more bytes followed immediately.
        ///
        /// If so, an escape at the end is the Escape key.
        var isComplete = true
        var needsRedraw = false
        var hasEnded = false
    }

    private let input: Int32
    private let output: Int32
    private let hasOwnScreen: Bool
    private let state = Mutex(State())
    private let signals: Mutex<CaughtSignals?>
    private let crashGuard: Mutex<CrashGuard?>
    private let signalPipe: Int32
    private let reader = Mutex<pthread_t?>(nil)

    /// Signals that ``next()`` has an event.
    ///
    /// A single element may represent several events.
    package let wakeups: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    /// The control sequences that switch to the alternate screen and hide the cursor, and the reverse (xterm).
    private static let enter = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[2J"
    private static let leave = "\u{1B}[0m\u{1B}[?25h\u{1B}[?1049l"

    /// Takes over the terminal.
    ///
    /// - Parameter hasOwnScreen: Whether the terminal has an alternate screen and a movable cursor. Any other terminal
    ///   only receives text.
    package init(hasOwnScreen: Bool, input: Int32 = 0, output: Int32 = 1) throws(InputError) {
        guard Terminal.isTerminal(input), Terminal.isTerminal(output) else { throw .notATerminal }
        self.input = input
        self.output = output
        self.hasOwnScreen = hasOwnScreen
        (self.wakeups, self.wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        var saved = termios()
        guard unsafe tcgetattr(input, &saved) == 0 else { throw .failed(errno: errno) }
        let signals = try CaughtSignals(CaughtSignals.ending + [SIGWINCH, SIGCONT])
        self.signalPipe = signals.readEnd
        self.signals = Mutex(consume signals)
        self.crashGuard = Mutex(CrashGuard(restoring: saved, of: input, with: hasOwnScreen ? Self.leave : ""))
        self.state.withLock { state in
            state.saved = saved
            self.take(&state)
        }
        try self.startReader()
    }

    deinit { self.close() }

    /// Restores the terminal.
    ///
    /// Calling this again has no effect.
    package func close() {
        let reader = self.reader.withLock { reader in
            defer { reader = nil }
            return reader
        }
        if let reader {
            self.signals.withLock { $0?.wakeReader() }
            pthread_join(reader, nil)
        }
        self.state.withLock { state in
            self.giveBack(&state)
            state.typed.removeAll()
            state.hasEnded = true
        }
        self.crashGuard.withLock { $0 = nil }
        self.signals.withLock { $0 = nil }
        self.wake.finish()
    }

    /// The size of the terminal, or 80 × 24 if the terminal does not report it.
    package var size: TerminalSize { Terminal.size(of: self.output) ?? TerminalSize(columns: 80, rows: 24) }

    /// Returns the next event, or nil if there are none left.
    package func next() -> TerminalEvent? {
        self.state.withLock { state in
            if state.needsRedraw {
                state.needsRedraw = false
                return .redraw
            }
            let isComplete = state.isComplete
            guard let (key, length) = state.typed.withBytes({ Key.first(in: $0, isComplete: isComplete) }) else {
                return state.hasEnded ? .ended : nil
            }
            state.typed.removeFirst(length)
            return .key(key)
        }
    }

    /// Writes to the terminal if the program has taken it over.
    ///
    /// Anything the terminal does not accept immediately is dropped.
    ///
    /// A blocked terminal, for example on a stalled connection, must not prevent a signal from ending the process.
    package func write(_ text: String) {
        self.state.withLock { state in
            if state.isTaken { self.send(text, within: 1000) }
        }
    }

    // MARK: Taking and restoring the terminal

    private func take(_ state: inout State) {
        // The shell may have changed the settings in the meantime.
        if !state.isTaken { unsafe tcgetattr(self.input, &state.saved) }
        var raw = state.saved
        raw.c_iflag &= ~tcflag_t(ICRNL | INLCR | IGNCR | IXON | ISTRIP)
        // Signals stay enabled: Ctrl-C and Ctrl-Z keep their usual meaning.
        raw.c_lflag &= ~tcflag_t(ICANON | ECHO | ECHONL | IEXTEN)
        raw.c_lflag |= tcflag_t(ISIG)
        unsafe tcsetattr(self.input, TCSAFLUSH, &raw)
        state.isTaken = true
        if self.hasOwnScreen { self.send(Self.enter, within: 1000) }
    }

    private func giveBack(_ state: inout State) {
        guard state.isTaken else { return }
        state.isTaken = false
        unsafe tcsetattr(self.input, TCSANOW, &state.saved)
        // Typed bytes that were meant for the program must not get to the shell, since they might be part of a PIN.
        tcflush(self.input, TCIFLUSH)
        if self.hasOwnScreen { self.send(Self.leave, within: 200) }
    }

    private func send(_ text: String, within milliseconds: Int32) {
        let bytes = Array(text.utf8)
        var written = 0
        while written < bytes.count {
            var ready = pollfd(fd: self.output, events: Int16(POLLOUT), revents: 0)
            let isReady = unsafe poll(&ready, 1, milliseconds)
            if isReady < 0, errno == EINTR { continue }
            guard isReady > 0 else { return }
            let count = unsafe bytes.withUnsafeBytes { buffer in
                let piece = unsafe UnsafeRawBufferPointer(rebasing: buffer[written..<min(written + 512, buffer.count)])
                return unsafe Glibc.write(self.output, piece.baseAddress, piece.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            written += count
        }
    }
}

// MARK: The reading thread

extension FullScreen {
    private func startReader() throws(InputError) {
        let retained = unsafe Unmanaged.passRetained(ReaderOf(self))
        var thread = pthread_t()
        let code = unsafe pthread_create(
            &thread,
            nil,
            { argument in
                guard let argument = unsafe argument else { return nil }
                let reader = unsafe Unmanaged<ReaderOf>.fromOpaque(argument).takeRetainedValue()
                reader.run()
                return nil
            },
            retained.toOpaque()
        )
        guard code == 0 else {
            unsafe retained.release()
            throw .failed(errno: code)
        }
        self.reader.withLock { $0 = thread }
    }

    /// The state retained by the thread.
    ///
    /// The thread must not retain the screen itself, because it would then never be released.
    private final class ReaderOf {
        private weak var screen: FullScreen?
        private let input: Int32
        private let signalPipe: Int32

        init(_ screen: FullScreen) {
            self.screen = screen
            self.input = screen.input
            self.signalPipe = screen.signalPipe
        }

        func run() {
            var waitsForMore = false
            while true {
                var ready = [
                    pollfd(fd: self.signalPipe, events: Int16(POLLIN), revents: 0),
                    pollfd(fd: self.input, events: Int16(POLLIN), revents: 0),
                ]
                // If more bytes immediately follow an escape, they belong to the same key, since no user types that
                // fast.
                let count = unsafe poll(&ready, 2, waitsForMore ? 50 : -1)
                let hasFailed = count < 0 && errno != EINTR
                guard let screen = self.screen else { return }
                if hasFailed { return screen.noteEnd() }
                if count > 0, ready[0].revents != 0 {
                    guard let number = CaughtSignals.next(from: self.signalPipe) else { continue }
                    guard number != 0 else { return }
                    screen.receive(signal: number)
                } else if count > 0, ready[1].revents != 0 {
                    guard screen.readKeys() else { return }
                    waitsForMore = true
                } else if count == 0 {
                    waitsForMore = false
                    screen.noteComplete()
                }
            }
        }
    }

    /// Reads the available bytes; returns false at the end of the input.
    private func readKeys() -> Bool {
        let goesOn = self.state.withLock { state in
            // No user types this much, so discard the bytes that have filled the buffer.
            if state.typed.room == 0 { state.typed.removeAll() }
            let count = state.typed.fill(from: self.input)
            state.isComplete = false
            if count > 0 || (count < 0 && (errno == EINTR || errno == EAGAIN)) { return true }
            state.hasEnded = true
            return false
        }
        self.wake.yield()
        return goesOn
    }

    private func noteEnd() {
        self.state.withLock { $0.hasEnded = true }
        self.wake.yield()
    }

    private func noteComplete() {
        self.state.withLock { $0.isComplete = true }
        self.wake.yield()
    }

    private func receive(signal number: Int32) {
        switch number {
        case SIGWINCH: self.state.withLock { $0.needsRedraw = true }
        case SIGCONT, SIGTSTP:
            self.state.withLock { state in
                if number == SIGTSTP {
                    self.giveBack(&state)
                    self.signals.withLock { $0?.raiseUncaught(number) }
                }
                self.take(&state)
                state.needsRedraw = true
            }
        case _:
            self.state.withLock { state in
                self.giveBack(&state)
                self.signals.withLock { $0?.raiseUncaught(number) }
                state.hasEnded = true
            }
        }
        self.wake.yield()
    }
}

package enum Key: Hashable, Sendable {
    /// A printable ASCII character, identified by its code.
    ///
    /// A decimal digit of another script is the ASCII digit of the same value.
    case character(UInt8)
    case up, down, left, right, enter, tab, escape, backspace
    /// Any other key.
    ///
    /// No program uses these.
    case other

    /// Parses the first key from bytes sent by a terminal (ECMA-48, as used by xterm and similar terminals).
    ///
    /// Returns the key and its length, or nil if more bytes are needed. A lone escape is the Escape key if `isComplete`
    /// is true, which means that no more bytes followed immediately.
    static func first(in bytes: RawSpan, isComplete: Bool) -> (key: Key, length: Int)? {
        guard bytes.byteCount > 0 else { return nil }
        switch Self.byte(bytes, 0) {
        case 0x1B: return Self.sequence(bytes, isComplete: isComplete)
        case 0x0A, 0x0D: return (.enter, 1)
        case 0x09: return (.tab, 1)
        case 0x08, 0x7F: return (.backspace, 1)
        case let byte where (0x20...0x7E).contains(byte): return (.character(byte), 1)
        case let byte where byte >= 0x80: return Self.beyondASCII(bytes, isComplete: isComplete)
        case _: return (.other, 1)
        }
    }

    /// Parses a character of two to four bytes in UTF-8.
    private static func beyondASCII(_ bytes: RawSpan, isComplete: Bool) -> (key: Key, length: Int)? {
        guard let scalar = Unicode.Scalar.decoded(at: 0, of: bytes.byteCount, { Self.byte(bytes, $0) }) else {
            return isComplete || bytes.byteCount >= 4 ? (.other, 1) : nil
        }
        let digit = scalar.decimalDigit.map { Key.character(UInt8(ascii: "0") + $0) }
        return (digit ?? .other, UTF8.width(scalar))
    }

    /// Parses a key that starts with an escape: `ESC [ … letter`, `ESC O letter`, or the Escape key.
    private static func sequence(_ bytes: RawSpan, isComplete: Bool) -> (key: Key, length: Int)? {
        guard bytes.byteCount > 1 else { return isComplete ? (.escape, 1) : nil }
        let introducer = Self.byte(bytes, 1)
        guard introducer == 0x5B || introducer == 0x4F else { return (.escape, 1) }
        for index in 2..<max(bytes.byteCount, 2) {
            let byte = Self.byte(bytes, index)
            // Skip parameters and intermediate bytes, which come before the final letter.
            if (0x20...0x3F).contains(byte) { continue }
            return (Self.arrow(byte, isPlain: index == 2), index + 1)
        }
        // The sequence is either cut off or far too long for a key.
        return isComplete || bytes.byteCount > 32 ? (.other, bytes.byteCount) : nil
    }

    private static func arrow(_ letter: UInt8, isPlain: Bool) -> Key {
        guard isPlain else { return .other }
        return switch letter {
        case 0x41: .up
        case 0x42: .down
        case 0x43: .right
        case 0x44: .left
        case 0x5A: .up
        case _: .other
        }
    }

    private static func byte(_ bytes: RawSpan, _ index: Int) -> UInt8 {
        unsafe bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self)
    }
}
