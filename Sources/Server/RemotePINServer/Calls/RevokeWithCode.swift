internal import AuditLog
internal import Logging
internal import Telemetry
internal import Statements
internal import Vocabulary
internal import WalletStore
internal import Wire

extension Conversation {
    /// Revokes the wallet with the given deletion code.
    ///
    /// The call requires no session and no other proof.
    func revokeWithCode(_ text: String) async throws -> CallResult {
        let (server, now, log) = (self.server, self.calledAt, self.log.ofCall)
        try server.limits.takeCode(of: self.account, at: now, log: log)
        return .revokeWithCode(
            try await server.revocations.revoke(
                deletionCode: text,
                by: .deletionCode,
                asking: self.handle.id,
                at: now,
                log: log
            )
        )
    }
}

extension Revocations {
    /// Revokes the wallet with the given deletion code, on behalf of a connected client or the portal.
    ///
    /// Once the answer has been sent, the server sends no more of the wallet's data (G7). The revocation is committed
    /// first, then the wallet's other connections are aborted, and only then does this method return.
    ///
    /// - Parameters:
    ///   - actor: The actor to record in the audit log.
    ///   - asking: The connection that is waiting for the answer and stays open, or nil for the portal.
    func revoke(
        deletionCode text: String,
        by actor: AuditActor,
        asking: UInt64?,
        at now: Timestamp,
        log: Logger
    ) async throws -> CodeRevocation {
        // Malformed text is looked up like a code, so that a mistyped code gets the same answer as an unknown one.
        let digest = DeletionCode(text).map(\.lookupDigest) ?? .of(Array(text.utf8))
        // The wallet must be known before the commit, because the audit entry names it. A code always belongs to the
        // same wallet.
        guard let wallet = try await self.store.wallet(ofDeletionCode: digest) else {
            if let purgedAt = try await self.store.purged(deletionCode: digest) { return .revoked(at: purgedAt) }
            return self.notRecognized(log)
        }
        let end = End(
            event: .deletionCode,
            actor: actor,
            wallet: wallet,
            revocation: .byDeletionCode,
            message: "wallet revoked by its deletion code"
        )
        let outcome = try await self.record(end, log: log) {
            try await self.store.revoke(byDeletionCode: digest, at: now)
        }
        switch outcome {
        case .revoked(let walletID, let revokedAt):
            await self.registry.abortAll(of: [walletID], except: asking)
            return .revoked(at: revokedAt)
        case .notRecognised:
            return self.notRecognized(log)
        }
    }

    private func notRecognized(_ log: Logger) -> CodeRevocation {
        if let metadata = self.unknownCodeLog.allow([:]) {
            log.info("deletion code not recognized", metadata: metadata)
        }
        return .notRecognised
    }
}

extension DeletionCode {
    /// The digest used to look up a wallet by its code.
    ///
    /// Text that is not a code never has one of these digests.
    var lookupDigest: Vocabulary.SHA256Digest { .of(Array(self.characters.utf8)) }
}
