internal import AttestationVerifier
internal import Statements
internal import Vocabulary
internal import Wire

/// The verification of device proofs.
struct DeviceProofs: Sendable {
    /// The result of a check.
    enum Finding: Equatable {
        /// The hardware key made the proof. The store must still find an assertion's counter
        /// greater than the stored one.
        case good(assertionCounter: UInt32?)
        case bad
    }

    /// The identity checked in place of one that the proof's form does not fit.
    let decoy: IdentityRecord

    /// Checks a proof against an identity.
    ///
    /// The form recorded at registration decides the result. The form of the proof decides only the
    /// work, which is the same for wallets of this platform, of the other one, and for unknown
    /// wallets.
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
            // The store's step compares it, durably, with the last accepted counter.
            previousCounter: 0
        )
        guard identity.platform == .iOS, case .success(let counter) = verdict else { return .bad }
        return .good(assertionCounter: counter)
    }
}
