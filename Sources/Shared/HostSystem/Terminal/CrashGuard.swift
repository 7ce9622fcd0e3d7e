internal import Glibc

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
    /// Nil if there is nothing to restore.
    ///
    /// Only modified while no handler is installed.
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
