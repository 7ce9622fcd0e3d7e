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
        do {
            let (state, now) = (self.server.state, self.server.state.clock.now())
            let account = state.limits.sources.account(of: source, at: now)
            try state.limits.takeCode(of: account, at: now, log: log)
            let result = try await state.revocations.revoke(
                deletionCode: request.code,
                by: .portal,
                asking: nil,
                at: now,
                log: log
            )
            switch result {
            case .revoked(let at): return .revoked(at: at)
            case .notRecognised: return .notRecognised
            }
        } catch {
            let failure = CallFailure(error)
            log.log(level: failure.logLevel, "refused", metadata: ["reason": "\(failure.logged)"])
            return if case .store(.notErased) = failure { nil } else { PortalResult(failure.refusal) }
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
