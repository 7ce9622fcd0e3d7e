internal import PINPolicy
package import Vocabulary

/// The rules for registrations, sessions and effects.
///
/// They apply to all stores and do not depend on storage.
extension WalletRow {
    /// Returns the reason why a registration must not replace this wallet, or nil if it may.
    package func rejection(of registration: NewRegistration) -> RegisterOutcome? {
        guard self.state.revocation == nil, !self.state.sessionOpened,
            self.hardwareKey == registration.hardwareKeyDigest
        else { return .tokenUsed }
        return Self.follows(registration.assertionCounter, self.state.assertionCounter) ? nil : .counterNotIncreased
    }

    /// The decision whether to admit a session, made before the PIN state is examined.
    package enum Admission: Hashable, Sendable {
        case rejected(SessionOutcome)
        /// The row was changed and must be stored.
        case changed
        case unchanged
    }

    /// Accepts the counter from a session's verified proof and records the first session.
    package mutating func admit(_ session: NewSession) -> Admission {
        guard self.identity == session.identity else { return .rejected(.identityChanged) }
        guard Self.follows(session.assertionCounter, self.state.assertionCounter) else {
            return .rejected(.counterNotIncreased)
        }
        guard !self.state.sessionOpened || session.assertionCounter != nil else { return .unchanged }
        self.state.sessionOpened = true
        self.state.assertionCounter = session.assertionCounter ?? self.state.assertionCounter
        return .changed
    }

    /// Returns the answer to an admitted session if the wallet is in use.
    package func answer(
        to session: NewSession,
        attempts: KeptAttempts,
        epoch: UInt64,
        receiptVersion: UInt32?,
        nextPresenceShare: () throws -> Sealed?
    ) rethrows -> SessionOutcome {
        let pinState = attempts.record.state(policy: session.policy, now: session.now)
        let isReleased = pinState != .blockedPermanently
        return .active(
            pinKeyID: self.pinKeyID,
            pinState: pinState,
            presenceShare: isReleased ? self.presenceShare : nil,
            nextPresenceShare: isReleased ? try nextPresenceShare() : nil,
            receiptVersion: receiptVersion,
            attempts: attempts.counts(epoch: epoch)
        )
    }

    /// Applies the effect of a right PIN to the row, for instructions that write it.
    ///
    /// - Parameter isDenied: Looks up the MAC of a recovery code on the deny list, in the same step as the link.
    package mutating func apply(
        _ effect: Attempt.Effect,
        isDenied: (_ mac: [UInt8]) throws -> Bool
    ) rethrows -> AttemptOutcome {
        switch effect {
        case .replacePINKey(let identity, let newKeyID):
            self.identity = identity
            self.pinKeyID = newKeyID
            return .valid(.pinKeyReplaced)
        case .linkRecoveryCode(let mac):
            precondition(mac.count == Self.recoveryMACByteCount, "a recovery code's MAC has 32 bytes")
            if self.state.isLinked {
                return .valid(self.recoveryMAC == mac ? .recoveryCodeLinked : .linkedToAnother)
            }
            if try isDenied(mac) { return .valid(.codeDenied) }
            self.state.isLinked = true
            self.recoveryMAC = mac
            return .valid(.recoveryCodeLinked)
        case .releaseShare, .readDeletionCode:
            preconditionFailure("these write nothing")
        }
    }

    /// Returns whether a proof's counter is greater than the stored one.
    ///
    /// A wallet's kind of proof never changes, so a client cannot bypass the check by omitting the counter.
    private static func follows(_ counter: UInt32?, _ stored: UInt32?) -> Bool {
        switch (counter, stored) {
        case (nil, nil): return true
        case (let counter?, let stored?): return counter > stored
        case (nil, _?), (_?, nil): return false
        }
    }
}

extension WalletState {
    /// Returns the revocation that prevents any release to a wallet: the wallet's own or, if there is none, the
    /// solution's.
    package func revocation(isSolutionRevoked: Bool) -> Revocation? {
        self.revocation ?? (isSolutionRevoked ? Revocation(reason: .solution, mayRegisterAnew: false) : nil)
    }
}
