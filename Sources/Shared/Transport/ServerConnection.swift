internal import Secrets
package import Vocabulary
package import Wire

/// The server's side of a client connection, after the handshake.
///
/// One task receives the requests in order; any task may send answers or close the connection. At
/// most ``TransportLimits/maxInFlight`` requests are queued; then the server stops reading.
package final class ServerConnection: Sendable {
    /// The exported secret that only the two ends of this connection know.
    package let channelBinding: ChannelBinding
    /// The client's address for logs.
    package var peer: String { self.frames.peer }

    /// The source under which the per-source limits count the client.
    package var source: PeerSource { self.frames.source }

    /// The identity of the event loop; tasks of connections on the same loop run on the same thread.
    package var eventLoopID: ObjectIdentifier { self.frames.eventLoopID }

    let frames: FrameChannel
    private let limits: TransportLimits

    init(_ frames: FrameChannel, channelBinding: ChannelBinding, limits: TransportLimits) {
        self.frames = frames
        self.channelBinding = channelBinding
        self.limits = limits
    }

    /// Waits for the next request; one task at a time may wait.
    package func next() async -> Incoming {
        switch await self.frames.next() {
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

    /// Sends an answer, waiting while the client does not take earlier ones; returns false if the
    /// connection has ended.
    ///
    /// True means that the answer was queued, not that it arrived.
    ///
    /// - Parameter isUse: True if the answer restarts the idle timeout; a refusal never does.
    @discardableResult
    package func send(_ response: Response, isUse: Bool = true) async -> Bool {
        let isRefused = if case .refused = response.result { true } else { false }
        var payload = response.encoded()
        // The payload may contain a share. The frame handler wipes the copy that TLS encrypts.
        defer { payload.wipe() }
        return await self.frames.send(payload, isUse: isUse && !isRefused)
    }

    /// Extends the idle timeout: an enrollment has begun on a connection without a session.
    package func enrollmentBegun() {
        self.frames.allowIdleness(of: self.limits.idleInEnrollment)
    }

    /// Extends the idle timeout and keeps the connection's place in a full table: a session has begun.
    package func sessionOpened() {
        self.frames.allowIdleness(of: self.limits.idleWithSession)
        self.frames.sessionChanged(isOpen: true)
    }

    /// Lets new connections displace this one again if the table is full: its session has ended.
    package func sessionEnded() {
        self.frames.sessionChanged(isOpen: false)
    }

    /// Closes the connection gracefully: earlier answers still arrive.
    package func close() {
        self.frames.close()
    }

    /// Ends the connection immediately: after ``closed()`` has returned, no further byte leaves, not
    /// even of earlier answers that this machine still buffers.
    package func abort() {
        self.frames.abort()
    }

    /// Waits until the connection has ended.
    package func closed() async {
        await self.frames.closed()
    }
}
