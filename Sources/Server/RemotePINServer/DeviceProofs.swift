internal import AttestationVerifier
internal import Evidence
internal import Statements
internal import Vocabulary
internal import Wire

/// Verifies device proofs.
struct DeviceProofs: Sendable {
    /// The result of a check.
    enum Finding: Equatable {
        /// The proof was made by the hardware key.
        ///
        /// If the proof is an assertion, the store must still check that its counter is greater than the stored one.
        case good(assertionCounter: UInt32?)
        case bad
    }

    /// The identity that a proof is checked against if its form does not match the wallet's identity.
    let decoy: IdentityRecord
    /// Receives the extension data of each proof that a registered key signed.
    let onExtensions: @Sendable (AppAttestExtensions?) -> Void

    /// Checks a proof against an identity.
    ///
    /// The form recorded at registration determines the result. The form of the proof only determines the amount of
    /// work. It is the same for wallets of this platform, wallets of the other platform, and unknown wallets.
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
            // A store operation compares the counter with the last accepted one and stores it durably.
            previousCounter: 0
        )
        guard identity.platform == .iOS, case .success(let data) = verdict else { return .bad }
        self.onExtensions(data.extensions)
        return .good(assertionCounter: data.counter)
    }
}
