internal import NIOCore
internal import Secrets
package import Vocabulary
package import Wire

/// The server's end of a client connection, after the handshake.
///
/// One task receives the requests in order. Any task may send answers or close the connection. The server stops reading
/// once ``TransportLimits/maxInFlight`` requests are queued.
package final class ServerConnection: Sendable {
    /// The exported secret that is known only to the two ends of this connection.
    package let channelBinding: ChannelBinding
    /// The client's address, for logs.
    package var peer: String { self.frames.peer }

    /// The source that the client is counted towards for the per-source limits.
    package var source: PeerSource { self.frames.source }

    let frames: FrameChannel
    private let idleInEnrollment: Duration
    private let idleWithSession: Duration

    init(_ frames: FrameChannel, channelBinding: ChannelBinding, limits: TransportLimits) {
        self.frames = frames
        self.channelBinding = channelBinding
        self.idleInEnrollment = limits.idleInEnrollment
        self.idleWithSession = limits.idleWithSession
    }

    /// A request or the end of the connection, as it arrived.
    ///
    /// Much smaller than ``Incoming``. The task of an idle connection keeps memory for one of them.
    package struct Received: Sendable {
        fileprivate let event: FrameChannel.Event
    }

    /// Waits for the next request; only one task may wait at a time.
    package func received() async -> Received { Received(event: await self.frames.next()) }

    /// Decodes a request.
    package func decode(_ received: Received) -> Incoming {
        switch received.event {
        case .frame(let bytes): Self.read(bytes)
        case .violation(let violation): .violation(.frame(violation), id: 0)
        case .ended: .closed
        }
    }

    private static func read(_ bytes: [UInt8]) -> Incoming {
        do throws(WireError) {
            let request = try Request(decoding: bytes)
            guard bytes.count > Frame.longestOrdinaryByteCount else { return .request(request) }
            if case .register = request.call { return .request(request) }
            return .violation(.frame(.tooLong(byteCount: bytes.count)), id: request.id)
        } catch {
            return .violation(.message(error), id: error.id ?? 0)
        }
    }

    /// Sends an answer, first waiting for the client to read earlier ones if necessary.
    ///
    /// Returns false if the connection has ended. Otherwise, the answer has been queued, but it might not have arrived.
    ///
    /// The answer to Hello is held for the answer to the next call, if that has already arrived: usually OpenSession,
    /// which waits for the store. This saves a TLS record and a system call on both sides. Other answers are not held,
    /// since their clients may be waiting for them.
    ///
    /// - Parameter isUse: Whether the answer restarts the idle timeout. A refusal never does.
    @discardableResult
    package func send(_ response: Response, isUse: Bool = true) async -> Bool {
        let isRefused = if case .refused = response.result { true } else { false }
        let isHello = if case .hello = response.result { true } else { false }
        var payload = response.encoded()
        // The payload may contain a share. The copy that TLS encrypts is wiped by the frame handler.
        defer { payload.wipe() }
        return await self.frames.send(payload, isUse: isUse && !isRefused, mayBeHeld: isHello)
    }

    /// Extends the idle timeout because an enrollment has started on a connection without a session.
    package func enrollmentBegun() { self.frames.allowIdleness(of: self.idleInEnrollment) }

    /// Extends the idle timeout and protects the connection from being displaced, because a session has started.
    package func sessionOpened() {
        self.frames.allowIdleness(of: self.idleWithSession)
        self.frames.protect(true)
    }

    /// Allows new connections to displace this one if the table is full, although it had a session.
    package func allowDisplacement() {
        self.frames.protect(false)  // rule: transport-ended-session-stays
    }

    /// Closes the connection gracefully, so that answers sent earlier still arrive.
    package func close() { self.frames.close() }

    /// Ends the connection immediately.
    ///
    /// Once ``closed()`` has returned, nothing more is sent, not even earlier answers still buffered on this machine.
    package func abort() { self.frames.abort() }

    /// Waits until the connection has ended.
    package func closed() async { await self.frames.closed() }
}

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
            let asked: EventLoopFuture<TCPInformation> = options.unsafeGetSocketOption(level: .tcp, name: .tcp_info)
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

/// The next event on a connection.
package enum Incoming: Sendable {
    case request(Request)
    /// A violation.
    ///
    /// Answer the call that has this id with `malformed`, then close the connection if ``Violation/endsConnection`` is
    /// true.
    case violation(Violation, id: UInt64)
    /// The connection has ended or the listener is stopping.
    ///
    /// Finish the pending answers and return.
    case closed
}

/// A protocol violation by the peer.
package enum Violation: Error, Hashable, Sendable {
    case frame(FrameViolation)
    case message(WireError)

    /// Whether the connection must be closed after the answer.
    ///
    /// This is not necessary if the request was well-formed, but contained an invalid value.
    package var endsConnection: Bool {
        switch self {
        case .frame, .message(.notProtobuf), .message(.overBudget): true
        case .message(.invalid), .message(.missing), .message(.unknownField), .message(.unknownInstruction): false
        }
    }
}
