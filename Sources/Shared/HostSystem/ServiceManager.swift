internal import Glibc

/// The service manager that started this process, where it wants to hear how the process is (sd_notify(3)).
///
/// A datagram of `NAME=VALUE` lines to the socket that it names in the environment: little enough to need no library of
/// systemd's.
package struct ServiceManager: Sendable {
    /// What it can be told.
    package enum Message: Hashable, Sendable {
        /// Everything is read and recovered, and clients can connect; also: what was read again is in use.
        case ready
        /// Files are being read again; ``ready`` follows, whatever came of it.
        case reloading
        /// The process is about to end.
        case stopping
        /// The process works; it is ended and started again where this stays away for ``watchdogInterval``.
        case alive
        /// How it is, in a sentence for people.
        case status(String)
    }

    /// As in `sun_path`; an abstract name begins with a zero byte (unix(7)).
    private let address: [UInt8]
    /// Within which time it wants each ``Message/alive``; nil where it wants none.
    package let watchdogInterval: Duration?

    /// Reads what a process was started with; nil where nobody wants to hear anything, or over no Unix socket.
    package init?(environment: [String: String], processID: Int32? = nil) {
        guard let name = environment["NOTIFY_SOCKET"] else { return nil }
        var address = Array(name.utf8)
        guard address.count > 1, address.count <= UnixSocketAddress.longestPathByteCount else { return nil }
        switch address[0] {
        case UInt8(ascii: "/"): break
        case UInt8(ascii: "@"): address[0] = 0
        default: return nil
        }
        self.address = address
        let isMeant = environment["WATCHDOG_PID"].map { Int32($0) == processID ?? getpid() } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
        self.watchdogInterval = isMeant && microseconds > 0 ? .microseconds(microseconds) : nil
    }

    /// Says it, in one datagram; false where the manager could not be reached, which stops nothing here.
    ///
    /// Waits, as sd_notify does, while the manager's queue is full: what it does not hear it would act upon.
    @discardableResult
    package func tell(_ messages: Message...) -> Bool {
        let text = messages.map(Self.text).joined(separator: "\n")
        return UnixSocketAddress(self.address).sendDatagram(Array(text.utf8))
    }

    private static func text(_ message: Message) -> String {
        switch message {
        case .ready: "READY=1"
        case .reloading: "RELOADING=1\nMONOTONIC_USEC=\(self.monotonicMicroseconds)"
        case .stopping: "STOPPING=1"
        case .alive: "WATCHDOG=1"
        case .status(let text): "STATUS=" + text.split(whereSeparator: \.isNewline).joined(separator: " ")
        }
    }

    /// The manager compares it with when it asked for the reload (sd_notify(3), MONOTONIC_USEC).
    private static var monotonicMicroseconds: Int64 {
        var time = timespec()
        precondition(unsafe clock_gettime(CLOCK_MONOTONIC, &time) == 0, "every kernel that this runs on has this clock")
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }
}
