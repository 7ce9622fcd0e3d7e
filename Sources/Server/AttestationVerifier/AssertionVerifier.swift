package import Evidence
package import Vocabulary

/// Verifies App Attest assertions, which iOS devices use to prove that they hold their key.
package enum AssertionVerifier {
    /// Verifies an assertion and returns the signed data, which includes its counter.
    ///
    /// - Parameters:
    ///   - clientDataHash: The SHA-256 digest of the statement.
    ///   - appID: The app id recorded at registration, as `TEAMID.bundle.id`. Must never be one claimed in a message.
    ///   - previousCounter: The counter of the last accepted assertion, or 0 right after the attestation.
    /// - Important: The caller must store the counter durably, in a conditional step of the store, before it accepts
    ///   the proof.
    package static func verify(
        assertion encoded: [UInt8],
        clientDataHash: SHA256Digest,
        key: P256PublicKey,
        appID: String,
        previousCounter: UInt32
    ) -> Result<AuthenticatorData, AttestationRefusal> {
        Result { () throws(AttestationRefusal) -> AuthenticatorData in
            try self.verified(
                encoded,
                clientDataHash: clientDataHash.bytes,
                key: key,
                appID: appID,
                previousCounter: previousCounter
            )
        }
    }

    package static func verified(
        _ encoded: [UInt8],
        clientDataHash: [UInt8],
        key: P256PublicKey,
        appID: String,
        previousCounter: UInt32
    ) throws(AttestationRefusal) -> AuthenticatorData {
        var verification = Verification()
        return try self.verified(
            encoded,
            clientDataHash: clientDataHash,
            key: key,
            appID: appID,
            previousCounter: previousCounter,
            verification: &verification
        )
    }

    /// Verifies an assertion and records the signature checks and the checks that passed.
    static func verified(
        _ encoded: [UInt8],
        clientDataHash: [UInt8],
        key: P256PublicKey,
        appID: String,
        previousCounter: UInt32,
        verification: inout Verification
    ) throws(AttestationRefusal) -> AuthenticatorData {
        guard encoded.count <= EvidenceLimits.byteCount else { throw .evidenceTooLarge }
        guard let assertion = try? AppAttestAssertion(decoding: encoded) else { throw .malformedCBOR }
        guard let data = try? AuthenticatorData(decoding: assertion.authenticatorData, withCredential: false) else {
            throw .malformedAuthData
        }
        let nonce = AppAttestAssertion.nonce(
            authenticatorData: assertion.authenticatorData,
            clientDataHash: clientDataHash
        )
        verification.pass(Check.form)
        // App Attest signs the nonce as a message, so ECDSA hashes it again.
        guard verification.isValid(assertion.signature, of: nonce.bytes, key: SubjectPublicKey(key)) else {
            throw .badSignature
        }
        verification.pass(Check.signature)
        guard data.rpIDHash == sha256(Array(appID.utf8)) else { throw .rpIDMismatch }
        verification.pass(Check.app)
        guard data.counter > previousCounter else { throw .counterNotIncreased }
        verification.pass(Check.counter)
        return data
    }
}
