internal import PINPolicy
internal import Vocabulary
internal import WalletStore

/// The state of a wallet as shown to operators.
///
/// Also used in counts and filters.
package enum WalletCondition: String, Codable, CodingKeyRepresentable, Hashable, Sendable, CaseIterable {
    /// The next PIN will be checked.
    case open
    case blocked
    case blockedPermanently = "blocked-permanently"
    /// Registered, but no session has been opened yet.
    case neverOpened = "never-opened"
    case revoked
    /// The attempt record was not written by this server, so no PIN is checked.
    ///
    /// Revoke the wallet.
    case damaged

    /// Determines the condition.
    ///
    /// A revocation takes precedence over damage, because a revoked wallet needs no attempt record. Damage takes
    /// precedence over a missing session, because the wallet's first session will fail.
    init(isRevoked: Bool, sessionOpened: Bool, pin: PINState?) {
        guard !isRevoked else {
            self = .revoked
            return
        }
        switch pin {
        case nil: self = .damaged
        case _ where !sessionOpened: self = .neverOpened
        case .open: self = .open
        case .blocked: self = .blocked
        case .blockedPermanently: self = .blockedPermanently
        }
    }
}

extension StoredListing {
    func condition(policy: AttemptPolicy, now: Timestamp) -> WalletCondition {
        WalletCondition(
            isRevoked: self.revocation != nil,
            sessionOpened: self.sessionOpened,
            pin: self.attempts(under: policy)?.state(policy: policy, now: now)
        )
    }

    /// The number of wallets read by one step of the store.
    ///
    /// It is small so that PIN checks do not have to wait.
    static let countPerStep = 500
}
