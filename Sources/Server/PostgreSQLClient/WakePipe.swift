internal import Glibc

/// Wakes a thread that waits for a connection's notifications.
package final class WakePipe: Sendable {
    /// Readable once the thread was woken.
    package let readable: Int32
    private let writable: Int32

    /// Returns nil if the process has no free file descriptors.
    package init?() {
        var ends: [Int32] = [0, 0]
        guard unsafe pipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        (self.readable, self.writable) = (ends[0], ends[1])
    }

    deinit {
        close(self.readable)
        close(self.writable)
    }

    package func wake() {
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
