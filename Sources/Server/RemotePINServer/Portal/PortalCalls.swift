internal import AuditLog
internal import Logging
internal import ServiceLifecycle
package import Transport
internal import Vocabulary
internal import WalletStore
package import Wire

/// What the deletion portal can have a running server do: what RevokeWithCode does, for the source that it names.
///
/// Who reaches it has been let in by the socket's file permissions. The source is the portal's word: one that lies about
/// it evades a limit that is for load only, and can do nothing else that a browser could not.
package struct PortalCalls: Sendable {
    private let server: RemotePINServer

    package init(of server: RemotePINServer) {
        self.server = server
    }

    /// Revokes the wallet that a deletion code names; what it started has happened when it returns.
    ///
    /// Nil where it is done and not whole: neither that it was done nor that it was not would be true.
    package func carryOut(_ request: PortalRequest) async -> PortalResult? {
        guard let source = PeerSource(address: request.source) else { return .malformed }
        var log = self.server.log
        log[metadataKey: "portal"] = "\(source)"
        log[metadataKey: "correlation"] = "\(CorrelationID.random())"
        do throws(CallFailure) {
            return
                switch try await self.server.services.revoke(
                    deletionCode: request.code,
                    from: source,
                    by: .portal,
                    asking: nil,
                    log: log
                )
            {
            case .revoked(let at): .revoked(at: at)
            case .notRecognised: .notRecognised
            }
        } catch {
            log.log(level: error.logLevel, "refused", metadata: ["reason": "\(error.logged)"])
            return if case .store(.notErased) = error { nil } else { PortalResult(error.refusal) }
        }
    }

    /// Takes requests until graceful shutdown or cancellation.
    package func serve(_ listener: PortalListener) async {
        await withGracefulShutdownHandler {
            await listener.serve { await self.carryOut($0) }
        } onGracefulShutdown: {
            listener.stop()
        }
    }
}

extension PortalResult {
    /// Time for an operator to look at a server that found its data damaged.
    private static let repair: Duration = .seconds(3600)

    /// What the portal is told where nothing was revoked.
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
