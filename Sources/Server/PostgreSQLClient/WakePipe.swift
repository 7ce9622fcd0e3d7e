internal import Glibc

/// Wakes a thread that waits for a connection's notifications.
package final class WakePipe: Sendable {
    /// Readable once the thread was woken.
    package let readable: Int32
    private let writable: Int32
    private let onWake: @Sendable () -> Void

    /// Returns nil if the process has no free file descriptors.
    package init?() {
        var ends: [Int32] = [0, 0]
        guard unsafe pipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        (self.readable, self.writable, self.onWake) = (ends[0], ends[1], {})
    }

    /// A pipe of a simulator, which calls a function instead of waking a thread.
    package init(onWake: @escaping @Sendable () -> Void) {
        (self.readable, self.writable, self.onWake) = (-1, -1, onWake)
    }

    deinit {
        close(self.readable)
        close(self.writable)
    }

    package func wake() {
        self.onWake()
        var byte: UInt8 = 0
        // A full pipe wakes the thread as well.
        _ = unsafe write(self.writable, &byte, 1)
    }

    /// Forgets earlier calls of ``wake()``.
    package func clear() {
        var bytes = [UInt8](repeating: 0, count: 64)
        while unsafe read(self.readable, &bytes, bytes.count) > 0 {}
    }
}
