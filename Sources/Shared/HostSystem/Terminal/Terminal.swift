internal import Glibc

/// The user's terminal.
package enum Terminal {
    /// Returns whether a descriptor is a terminal.
    package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// Returns the width of a terminal, or nil if the descriptor is not a terminal.
    package static func columns(of descriptor: Int32 = 1) -> Int? { self.size(of: descriptor)?.columns }

    /// Returns the size of a terminal, or nil if the terminal does not report it.
    package static func size(of descriptor: Int32) -> TerminalSize? {
        var size = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return nil
        }
        return TerminalSize(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }

    /// Reads a line without echoing it, and passes it to `body` without the line feed.
    ///
    /// The terminal is always restored: after the line, at the end of the input, after an error, and on signals that
    /// end or stop the process. These signals then have their usual effect. Only one call may run at a time.
    package static func withHiddenLine<Result: ~Copyable>(
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
                CaughtSignals.raiseHere(number)
                // We only get here if the process was stopped and continued, or if it has its own signal handler.
                if number != SIGTSTP { throw .interrupted(signal: number) }
            }
        }
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
            if ready[1].revents != 0, let number = CaughtSignals.next(from: signals.readEnd) { return .signal(number) }
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

/// The size of a terminal in columns and rows of characters.
package struct TerminalSize: Hashable, Sendable {
    package var columns: Int
    package var rows: Int

    package init(columns: Int, rows: Int) {
        self.columns = columns
        self.rows = rows
    }
}

/// Turns off the terminal's echo for the lifetime of the value.
private struct EchoOff: ~Copyable {
    private let descriptor: Int32
    private var saved = termios()

    init(_ descriptor: Int32) throws(InputError) {
        self.descriptor = descriptor
        guard unsafe tcgetattr(descriptor, &self.saved) == 0 else { throw .failed(errno: errno) }
        var silent = self.saved
        silent.c_lflag &= ~tcflag_t(ECHO)
        silent.c_lflag |= tcflag_t(ICANON | ISIG | ECHONL)
        // Flush the input: bytes typed before the prompt cannot be an answer to it.
        guard unsafe tcsetattr(descriptor, TCSAFLUSH, &silent) == 0 else { throw .failed(errno: errno) }
    }

    deinit {
        var saved = self.saved
        unsafe tcsetattr(self.descriptor, TCSANOW, &saved)
    }

    consuming func restore() {}
}
