internal import Secrets
package import Vocabulary
package import Wire

/// One client's connection, seen from the server, from the end of the handshake on.
///
/// One task takes its requests in order; answers and ends may come from anywhere. At most
/// ``TransportLimits/maxInFlight`` requests wait, then nothing more is read.
package final class ServerConnection: Sendable {
    /// What only this connection's two ends know.
    package let channelBinding: ChannelBinding
    /// The client's address for logs.
    package var peer: String { self.frames.peer }

    /// What limits for each source count the client under.
    package var source: PeerSource { self.frames.source }

    /// Which event loop it lives on: tasks of connections with the same one run on the same thread.
    package var eventLoopID: ObjectIdentifier { self.frames.eventLoopID }

    let frames: FrameChannel
    private let limits: TransportLimits

    init(_ frames: FrameChannel, channelBinding: ChannelBinding, limits: TransportLimits) {
        self.frames = frames
        self.channelBinding = channelBinding
        self.limits = limits
    }

    /// The next request, waiting for it; one task at a time may ask.
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

    /// Sends an answer, waiting while the client does not take earlier ones; false when the connection has ended.
    ///
    /// True says that the answer was taken over, not that it arrived.
    ///
    /// - Parameter isUse: whether the time in which the connection may be idle begins anew; with a refusal it never does.
    @discardableResult
    package func send(_ response: Response, isUse: Bool = true) async -> Bool {
        let isRefused = if case .refused = response.result { true } else { false }
        var payload = response.encoded()
        // It may hold a share; the copy that TLS encrypts is wiped by who makes it.
        defer { payload.wipe() }
        return await self.frames.send(payload, isUse: isUse && !isRefused)
    }

    /// A session has begun: the connection may be idle for longer.
    package func sessionOpened() {
        self.frames.allowIdleness(of: self.limits.idleWithSession)
    }

    /// Ends the connection in an orderly way: what was sent before arrives.
    package func close() {
        self.frames.close()
    }

    /// Ends the connection at once: once ``closed()`` has returned, nothing more leaves, not even what was sent before
    /// and is still on its way through this machine.
    package func abort() {
        self.frames.abort()
    }

    /// Waits until the connection has ended.
    package func closed() async {
        await self.frames.closed()
    }
}
