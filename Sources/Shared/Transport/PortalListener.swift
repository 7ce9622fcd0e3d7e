internal import Vocabulary
package import Wire

/// The Unix socket on which a running server takes what is typed on the deletion portal.
///
/// Nothing but ``PortalRequest`` is read here, so that whoever takes the portal over gets no further than anybody with a
/// browser: the operator's socket is another file. Only its owner can open it, or with a group its members too (mode
/// 0600 or 0660, from before it listens).
package final class PortalListener: Sendable {
    /// A connection for each code that is being looked up; the portal takes no more requests of its own at a time, and
    /// each connection is a file of the process.
    package static let limits = TransportLimits.local(connections: 600)

    private let listener: ConnectionListener
    private let rest: Duration

    private init(_ listener: ConnectionListener, rest: Duration) {
        self.listener = listener
        self.rest = rest
    }

    /// Listens at `path`, replacing a socket that an earlier process left there.
    ///
    /// - Parameters:
    ///   - group: whose members may open it too.
    ///   - observer: who is told of connections that there was no room for.
    /// - Precondition: no other process serves this folder; its lock is the caller's to hold.
    package static func bind(
        path: String,
        group: UInt32? = nil,
        limits: TransportLimits = PortalListener.limits,
        observer: ListenerObserver = ListenerObserver()
    ) async throws(ListenError) -> PortalListener {
        PortalListener(
            try await ConnectionListener.bind(unixSocket: path, group: group, limits: limits, observer: observer),
            rest: limits.rest
        )
    }

    /// Answers requests, one after the other on each connection, until ``stop()`` or cancellation.
    ///
    /// Threat: whoever took the portal over sends requests without end. What is answered without the store would keep an
    /// event loop from the wallets that it serves, so nothing more is read for a while after such an answer.
    ///
    /// - Parameter answer: nil ends the connection without an answer, so that the portal learns that nothing is known.
    package func serve(_ answer: @escaping @Sendable (PortalRequest) async -> PortalResult?) async {
        await self.listener.serve { opened in
            while case .frame(let bytes) = await opened.frames.next() {
                let response: PortalResponse
                do throws(WireError) {
                    let request = try PortalRequest(decoding: bytes)
                    guard let result = await answer(request) else { return }
                    response = PortalResponse(id: request.id, result: result)
                } catch {
                    response = PortalResponse(id: error.id ?? 0, result: .malformed)
                }
                let isUse = response.result.isUse
                guard await opened.frames.send(response.encoded(), isUse: isUse) else { return }
                // Cancelled when the listener stops; the next request is then the connection's end.
                if !isUse { try? await Task.sleep(for: self.rest) }
            }
        }
    }

    /// Takes no more requests and removes the socket; the one that is being carried out is still answered.
    package func stop() {
        self.listener.stop()
    }
}

extension PortalResult {
    /// Whether a code was looked up for it.
    fileprivate var isUse: Bool {
        switch self {
        case .revoked, .notRecognised: true
        case .rateLimited, .unavailable, .malformed: false
        }
    }
}
