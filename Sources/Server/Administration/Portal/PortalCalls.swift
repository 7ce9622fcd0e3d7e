package import RemotePINServer
internal import ServiceLifecycle
package import Transport
package import Wire

/// Handles requests from the deletion portal.
///
/// Each request revokes the wallet with the given deletion code. The permissions of the socket file determine who can
/// send requests.
package struct PortalCalls: Sendable {
    private let server: RemotePINServer

    package init(of server: RemotePINServer) { self.server = server }

    /// Revokes the wallet with the given deletion code.
    ///
    /// Returns once all effects are complete. Returns nil if the wallet has been revoked but its shares are still in
    /// the store's log, because both possible answers would be wrong.
    package func carryOut(_ request: PortalRequest) async -> PortalResult? {
        guard let source = PeerSource(address: request.source) else { return .malformed }
        switch await self.server.revoke(deletionCode: request.code, typedAt: source) {
        case .done(.revoked(let at)): return .revoked(at: at)
        case .done(.notRecognised): return .notRecognised
        case .refused(let reason): return PortalResult(reason)
        case .incomplete: return nil
        }
    }

    /// Handles the requests received on a socket until graceful shutdown or cancellation.
    package func serve(_ listener: LocalListener) async {
        await withGracefulShutdownHandler {
            await listener.servePortal { await self.carryOut($0) }
        } onGracefulShutdown: {
            listener.stop()
        }
    }
}

extension PortalResult {
    /// A retry delay that allows an operator to make a repair after the server found damaged data.
    private static let repair: Duration = .seconds(3600)

    /// Creates the portal's answer for a code that did not revoke anything.
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
