internal import AttestationVerifier
internal import Statements
internal import Vocabulary
internal import Wire

/// Finds out whether a wallet's hardware made a proof.
struct DeviceProofs: Sendable {
    /// What the check found.
    enum Finding: Equatable {
        /// The hardware key's; an assertion's counter has yet to be found greater than the stored one, durably.
        case good(assertionCounter: UInt32?)
        case bad
    }

    /// Checked in place of an identity that the proof's form does not fit.
    let decoy: IdentityRecord

    /// Checks a proof against an identity.
    ///
    /// The form that counts is the one recorded at registration. What the proof looks like decides only which work is
    /// done: the same for wallets of the other platform, of none, and of this one.
    func check(_ proof: DeviceProof, of statement: Statement, by identity: IdentityRecord) -> Finding {
        if let signature = P256Signature(proof.bytes) {
            let subject = identity.platform == .android ? identity : self.decoy
            let isValid = VerifyingKey(subject.hardwareKey)?.isValid(signature, for: statement) ?? false
            return isValid && identity.platform == .android ? .good(assertionCounter: nil) : .bad
        }
        let subject = identity.platform == .iOS ? identity : self.decoy
        let verdict = AssertionVerifier.verify(
            assertion: proof.bytes,
            clientDataHash: statement.digest,
            key: subject.hardwareKey,
            appID: subject.appID,
            // Whether it is greater than the last one that counted is found in the store's step, durably.
            previousCounter: 0
        )
        guard identity.platform == .iOS, case .success(let counter) = verdict else { return .bad }
        return .good(assertionCounter: counter)
    }
}
