package import RemotePINServer
internal import ServiceLifecycle
package import Transport
package import Wire

/// Answers the requests of the deletion portal: each revokes the wallet of a deletion code.
///
/// The permissions of the socket's file decide who can send requests.
package struct PortalCalls: Sendable {
    private let server: RemotePINServer

    package init(of server: RemotePINServer) {
        self.server = server
    }

    /// Revokes the wallet of a deletion code; its consequences are complete on return.
    ///
    /// Returns nil if the wallet is revoked and its shares are still in the store's log: both possible answers would be
    /// wrong.
    package func carryOut(_ request: PortalRequest) async -> PortalResult? {
        guard let source = PeerSource(address: request.source) else { return .malformed }
        switch await self.server.revoke(deletionCode: request.code, typedAt: source) {
        case .done(.revoked(let at)): return .revoked(at: at)
        case .done(.notRecognised): return .notRecognised
        case .refused(let reason): return PortalResult(reason)
        case .incomplete: return nil
        }
    }

    /// Answers the requests on a socket until graceful shutdown or cancellation.
    package func serve(_ listener: LocalListener) async {
        await withGracefulShutdownHandler {
            await listener.servePortal { await self.carryOut($0) }
        } onGracefulShutdown: {
            listener.stop()
        }
    }
}

extension PortalResult {
    /// The retry delay that gives an operator time to repair a server that found its data damaged.
    private static let repair: Duration = .seconds(3600)

    /// Creates the portal's answer for a code that revoked nothing.
    fileprivate init(_ reason: Refusal.Reason) {
        switch reason {
        case .rateLimited(let wait): self = .rateLimited(retryAfter: wait)
        case .unavailable(let wait): self = .unavailable(retryAfter: wait)
        case .internal: self = .unavailable(retryAfter: Self.repair)
        case .malformed, .unsupported, .sessionRequired, .authenticationFailed, .outOfOrder, .challengeInvalid,
            .attestationRejected, .notAllowed, .revoked, .pinKeyChanged:
            self = .malformed
        }
    }
}
