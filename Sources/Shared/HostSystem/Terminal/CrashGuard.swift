internal import Glibc

/// Restores the terminal where the process dies of itself: a trap, a bad address, an abort.
///
/// Everything that the handler needs lies ready beforehand, because it may neither allocate nor lock; tcsetattr(3) and
/// write(2) are among the calls that it may make (signal-safety(7)). The signal then takes its course: the faulting
/// instruction runs again without a handler.
@safe struct CrashGuard: ~Copyable {
    @safe private struct Prepared {
        var descriptor: Int32
        var state: termios
        var text: UnsafeMutableBufferPointer<UInt8>
    }

    private static let crashes = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV]
    /// Nil while there is nothing to restore; written only while no handler is installed.
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
