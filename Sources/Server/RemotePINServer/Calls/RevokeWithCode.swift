internal import AuditLog
internal import Logging
internal import Statements
internal import Transport
internal import Vocabulary
internal import WalletStore
internal import Wire

extension Conversation {
    /// Revokes the wallet that a deletion code names; the code is all that it takes.
    func revokeWithCode(_ text: String) async throws(CallFailure) -> CallResult {
        .revokeWithCode(
            try await self.services.revoke(
                deletionCode: text,
                from: self.source,
                by: .deletionCode,
                asking: self.live.id,
                log: self.log.ofCall
            )
        )
    }
}

extension Services {
    /// Revokes the wallet that a deletion code names, for a connection of a wallet or for somebody at the portal.
    ///
    /// The answer means that nothing of the wallet leaves this server any more (G7): the step is committed, then the
    /// wallet's connections are ended, and only then is it given.
    ///
    /// - Parameters:
    ///   - actor: who did it, for the record.
    ///   - asking: the connection that gets the answer and is not ended; nil where it is the portal's.
    func revoke(
        deletionCode text: String,
        from source: PeerSource,
        by actor: AuditActor,
        asking: UInt64?,
        log: Logger
    ) async throws(CallFailure) -> CodeRevocation {
        let now = self.clock.now()
        let account = self.sources.account(of: source, at: now)
        if let wait = account.codes.take(self.rules.sources.codes, at: now) {
            self.limitMetrics.note(.codes, of: source, log: log)
            throw .rateLimited(.codes, retryAfter: max(wait, SourceLimits.leastWait))
        }
        // What is no code is looked up as well: a mistyped one and an unknown one are told alike.
        let digest = DeletionCode(text).map { self.lookup($0) } ?? self.lookup(unreadable: text)
        // The wallet's name first, for the record: a code belongs to one wallet for good.
        let named = try await stored { () throws(StoreError) in try await self.store.wallet(ofDeletionCode: digest) }
        let outcome: CodeRevocationOutcome
        if let named {
            outcome = try await self.onRecord(
                .deletionCode,
                by: actor,
                ending: named,
                as: .byUser,
                saying: "wallet revoked by its deletion code",
                log: log
            ) { () throws(StoreError) in
                try await self.store.revoke(byDeletionCode: digest, at: now)
            }
        } else if let purgedAt = try await stored({ () throws(StoreError) in
            try await self.store.purged(deletionCode: digest)
        }) {
            return .revoked(at: purgedAt)
        } else {
            outcome = .notRecognised
        }
        switch outcome {
        case .revoked(let walletID, let revokedAt):
            await self.registry.abortAll(of: walletID, except: asking)
            return .revoked(at: revokedAt)
        case .notRecognised:
            self.limitMetrics.note(unknownCodeIn: log)
            return .notRecognised
        }
    }

    /// Under which a wallet is found by its deletion code.
    func lookup(_ code: DeletionCode) -> Vocabulary.SHA256Digest { .of(Array(code.characters.utf8)) }

    /// A digest that no code has: a code's characters would have been readable.
    func lookup(unreadable text: String) -> Vocabulary.SHA256Digest { .of(Array(text.utf8)) }
}
