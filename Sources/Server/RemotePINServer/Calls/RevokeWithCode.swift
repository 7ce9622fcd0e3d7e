internal import AuditLog
internal import Logging
internal import Statements
internal import Vocabulary
internal import WalletStore
internal import Wire

extension Conversation {
    /// Revokes the wallet that a deletion code names; the code is all that it takes.
    ///
    /// The answer means that nothing of the wallet leaves this server any more (G7): the step is committed, then the
    /// wallet's connections are ended, and only then is it given.
    func revokeWithCode(_ text: String) async throws(CallFailure) -> CallResult {
        let (services, now) = (self.services, self.services.clock.now())
        if let wait = services.limiter.take(from: self.source, at: now) { throw .rateLimited(retryAfter: wait) }
        // What is no code is looked up as well: a mistyped one and an unknown one are told alike.
        let digest = DeletionCode(text).map { services.lookup($0) } ?? services.lookup(unreadable: text)
        // The wallet's name first, for the record: a code belongs to one wallet for good.
        let named = try await stored { () throws(StoreError) in
            try await services.store.wallet(ofDeletionCode: digest)
        }
        let outcome: CodeRevocationOutcome
        if let named {
            outcome = try await self.onRecord(.deletionCode, by: .deletionCode, ending: named) {
                () throws(StoreError) in
                try await services.store.revoke(byDeletionCode: digest, at: now)
            }
        } else {
            outcome = .notRecognised
        }
        switch outcome {
        case .revoked(let walletID, let revokedAt):
            await services.registry.abortAll(of: walletID, except: self.live.id)
            self.log.notice("wallet revoked by its deletion code", metadata: ["wallet": "\(walletID)"])
            return .revokeWithCode(.revoked(at: revokedAt))
        case .notRecognised:
            self.log.info("deletion code not recognized")
            return .revokeWithCode(.notRecognised)
        }
    }
}

extension Services {
    /// Under which a wallet is found by its deletion code.
    func lookup(_ code: DeletionCode) -> Vocabulary.SHA256Digest { .of(Array(code.characters.utf8)) }

    /// A digest that no code has: a code's characters would have been readable.
    func lookup(unreadable text: String) -> Vocabulary.SHA256Digest { .of(Array(text.utf8)) }
}
