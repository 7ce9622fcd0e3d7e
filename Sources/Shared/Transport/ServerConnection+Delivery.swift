internal import NIOCore

extension ServerConnection {
    /// Returns whether all bytes sent so far have arrived at the peer's machine.
    ///
    /// This means that neither this process nor the kernel is still buffering bytes that could be sent later. Returns
    /// false if it cannot be determined.
    package func hasDelivered() async -> Bool { await self.frames.hasDelivered() }
}

extension FrameChannel {
    /// Implements ``ServerConnection/hasDelivered()``.
    fileprivate func hasDelivered() async -> Bool {
        let found: EventLoopFuture<Bool> = self.channel.eventLoop.flatSubmit {
            // We are on the event loop here, so this runs after all earlier sends.
            guard self.channel.isActive, !self.isHolding,
                let options = self.channel as? any SocketOptionProvider
            else {
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

/// The state of a TCP connection on Linux (linux/tcp.h, `struct tcp_info`), up to `tcpi_notsent_bytes`.
///
/// Older kernels return less. The missing fields stay zero, and we do not rely on them.
private struct TCPInformation: Sendable {
    private typealias Words = (UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32)

    private var first: Words = (0, 0, 0, 0, 0, 0, 0, 0)
    private var second: Words = (0, 0, 0, 0, 0, 0, 0, 0)
    private var third: Words = (0, 0, 0, 0, 0, 0, 0, 0)
    private var fourth: Words = (0, 0, 0, 0, 0, 0, 0, 0)
    private var fifth: Words = (0, 0, 0, 0, 0, 0, 0, 0)

    /// The number of segments that the peer has not acknowledged: `tcpi_unacked`, 24 bytes from the start.
    private var unacknowledged: UInt32 { self.first.6 }
    /// The total number of segments sent: `tcpi_segs_out`, 136 bytes from the start.
    ///
    /// A connection that has sent an answer must have sent at least one, so zero means that the kernel does not have
    /// this field.
    private var segmentsSent: UInt32 { self.fifth.2 }
    /// The number of bytes that the kernel has not sent yet: `tcpi_notsent_bytes`, 144 bytes from the start.
    private var unsent: UInt32 { self.fifth.4 }

    var hasDelivered: Bool { self.segmentsSent > 0 && self.unacknowledged == 0 && self.unsent == 0 }
}
