internal import Dispatch
internal import Glibc

/// The service manager that started this process, if it wants to be notified of our state (sd_notify(3)).
///
/// A notification is a datagram of `NAME=VALUE` lines, sent to the socket named in the environment. This is so simple
/// that we do not need the systemd library.
package struct ServiceManager: Sendable {
    /// A notification for the service manager.
    package enum Message: Hashable, Sendable {
        /// Startup and recovery are complete, and clients can connect.
        ///
        /// After a reload, the new files are in use.
        case ready
        /// The process is reloading its files.
        ///
        /// ``ready`` follows, whether or not the reload succeeds.
        case reloading
        /// The process is about to exit.
        case stopping
        /// The process is alive.
        ///
        /// The manager restarts it if it does not receive this message for ``watchdogInterval``.
        case alive
        /// A sentence for operators that describes the state of the process.
        case status(String)
    }

    /// The address as it is stored in `sun_path`.
    ///
    /// An abstract name begins with a zero byte (unix(7)).
    private let address: [UInt8]
    /// Sends in order, so that a manager whose queue is full delays neither a stop nor a reload.
    private let sender = DispatchQueue(label: "service manager")
    /// The interval at which the manager expects ``Message/alive``, or nil if it expects none.
    package let watchdogInterval: Duration?

    /// Reads the environment; returns nil if no manager wants notifications over a Unix socket.
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

    /// Sends the messages in a single datagram, after earlier ones, and does not wait for that.
    ///
    /// Like sd_notify, the sending thread waits while the manager's queue is full, because the manager would react to a
    /// missing message. It is not an error if the manager cannot be reached.
    package func tell(_ messages: Message...) {
        let datagram = Array(messages.map(Self.text).joined(separator: "\n").utf8)
        let address = UnixSocketAddress(self.address)
        self.sender.async { _ = address.sendDatagram(datagram) }
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

    /// The time of the reload, which the manager compares with the time of its request (sd_notify(3), MONOTONIC_USEC).
    private static var monotonicMicroseconds: Int64 {
        var time = timespec()
        precondition(unsafe clock_gettime(CLOCK_MONOTONIC, &time) == 0, "every supported kernel has this clock")
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }
}
