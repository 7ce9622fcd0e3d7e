internal import Vocabulary
public import Wire

/// The Unix socket on which a running server takes what is typed on the deletion portal.
///
/// Nothing but ``PortalRequest`` is read here, so that whoever takes the portal over gets no further than anybody with a
/// browser: the operator's socket is another file. Only its owner can open it, or with a group its members too (mode
/// 0600 or 0660, from before it listens).
public final class PortalListener: Sendable {
    private let listener: ConnectionListener

    private init(_ listener: ConnectionListener) {
        self.listener = listener
    }

    /// Listens at `path`, replacing a socket that an earlier process left there.
    ///
    /// - Parameter group: whose members may open it too.
    /// - Precondition: no other process serves this folder; its lock is the caller's to hold.
    public static func bind(
        path: String,
        group: UInt32? = nil,
        limits: TransportLimits = TransportLimits()
    ) async throws(ListenError) -> PortalListener {
        var limits = limits
        // They all come from the portal, which has a limit for each of its own peers.
        limits.connectionsPerSource = 0
        return PortalListener(try await ConnectionListener.bind(unixSocket: path, group: group, limits: limits))
    }

    /// Answers requests, one after the other on each connection, until ``stop()`` or cancellation.
    public func serve(_ answer: @escaping @Sendable (PortalRequest) async -> PortalResult) async {
        await self.listener.serve { opened in
            while case .frame(let bytes) = await opened.frames.next() {
                let response: PortalResponse
                do throws(WireError) {
                    let request = try PortalRequest(decoding: bytes)
                    response = PortalResponse(id: request.id, result: await answer(request))
                } catch {
                    response = PortalResponse(id: error.id ?? 0, result: .malformed)
                }
                guard await opened.frames.send(response.encoded()) else { return }
            }
        }
    }

    /// Takes no more requests and removes the socket; the one that is being carried out is still answered.
    public func stop() {
        self.listener.stop()
    }
}
