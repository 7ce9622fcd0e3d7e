internal import NIOCore

extension ServerConnection {
    /// Whether everything that was sent until now has arrived at the peer's machine: nothing of it waits in this process
    /// or in the kernel, which sends on what a peer takes later.
    ///
    /// False also where that cannot be known.
    package func hasDelivered() async -> Bool { await self.frames.hasDelivered() }
}

extension FrameChannel {
    /// As ``ServerConnection/hasDelivered()``.
    fileprivate func hasDelivered() async -> Bool {
        let found: EventLoopFuture<Bool> = self.channel.eventLoop.flatSubmit {
            // On the loop: behind everything that was sent before.
            guard self.channel.isActive, let options = self.channel as? any SocketOptionProvider else {
                return self.channel.eventLoop.makeSucceededFuture(false)
            }
            let buffered = try? self.channel.syncOptions?.getOption(.bufferedWritableBytes)
            let asked: EventLoopFuture<TCPInformation> =
                options.unsafeGetSocketOption(level: .tcp, name: .tcp_info)
            return asked.map { buffered == 0 && $0.hasDelivered }
        }
        return (try? await found.get()) ?? false
    }
}

/// What Linux says of a TCP connection (linux/tcp.h, `struct tcp_info`), as far as `tcpi_notsent_bytes`.
///
/// An older kernel gives less than that; the numbers it leaves out stay zero, and are then not believed.
private struct TCPInformation: Sendable {
    private typealias Words = (UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32)

    private var first: Words = (0, 0, 0, 0, 0, 0, 0, 0)
    private var second: Words = (0, 0, 0, 0, 0, 0, 0, 0)
    private var third: Words = (0, 0, 0, 0, 0, 0, 0, 0)
    private var fourth: Words = (0, 0, 0, 0, 0, 0, 0, 0)
    private var fifth: Words = (0, 0, 0, 0, 0, 0, 0, 0)

    /// Segments that the peer has not acknowledged: `tcpi_unacked`, 24 bytes from the start.
    private var unacknowledged: UInt32 { self.first.6 }
    /// Segments sent in all: `tcpi_segs_out`, 136 bytes from the start.
    ///
    /// A connection that answered has sent some, so a kernel that knows the field does not say zero.
    private var segmentsSent: UInt32 { self.fifth.2 }
    /// Bytes that the kernel still keeps back: `tcpi_notsent_bytes`, 144 bytes from the start.
    private var unsent: UInt32 { self.fifth.4 }

    var hasDelivered: Bool { self.segmentsSent > 0 && self.unacknowledged == 0 && self.unsent == 0 }
}
