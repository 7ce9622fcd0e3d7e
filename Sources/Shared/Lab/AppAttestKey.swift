package import Evidence
package import Vocabulary

/// An iPhone app's key, with App Attest attestations and assertions.
package struct AppAttestKey: Sendable {
    package let key: SigningKey
    /// The team and bundle id.
    package let appID: String
    /// Apple's service that attests the key.
    package let environment: AppAttestEnvironment

    package init(_ key: SigningKey, appID: String, environment: AppAttestEnvironment = .production) {
        self.key = key
        self.appID = appID
        self.environment = environment
    }

    /// The key id: the SHA-256 digest of its public half.
    package var id: SHA256Digest { sha256(self.key.publicKey.bytes) }

    /// The authenticator data for attesting this key, before it has signed anything.
    package var attestedData: AuthenticatorData {
        AuthenticatorData(
            rpIDHash: sha256(Array(self.appID.utf8)),
            flags: AuthenticatorData.hasCredential,
            counter: 0,
            credential: AuthenticatorData.Credential(
                aaguid: self.environment.aaguid,
                id: self.id.bytes,
                key: AuthenticatorData.Credential.coseKey(self.key.publicKey)
            ),
            extensions: nil
        )
    }

    /// Returns an attestation for this key that contains `data`.
    ///
    /// - Parameter time: The lab's time, which determines the leaf's validity.
    package func attestation(
        saying data: AuthenticatorData,
        challenge: SHA256Digest,
        by authority: LabAuthority,
        issuer: AppAttestIssuer = .standard,
        at time: Timestamp
    ) -> AppAttestObject {
        let encoded = data.encoded
        let chain = authority.appAttestChain(
            for: self.key.publicKey,
            nonce: AppAttestAssertion.nonce(authenticatorData: encoded, clientDataHash: challenge.bytes),
            issuer: issuer,
            at: time
        )
        return AppAttestObject(certificates: chain, receipt: nil, authenticatorData: encoded)
    }

    /// Returns an assertion by this key with the given counter.
    ///
    /// Apple signs the nonce as a message, so ECDSA hashes it again.
    package func assertion(
        for clientDataHash: SHA256Digest,
        counter: UInt32,
        extensions: AppAttestExtensions? = nil
    ) -> AppAttestAssertion {
        let data = AuthenticatorData(
            rpIDHash: sha256(Array(self.appID.utf8)),
            flags: AuthenticatorData.hasCredential,
            counter: counter,
            credential: nil,
            extensions: extensions
        ).encoded
        let nonce = AppAttestAssertion.nonce(authenticatorData: data, clientDataHash: clientDataHash.bytes)
        return AppAttestAssertion(signature: self.key.derSignature(for: nonce.bytes), authenticatorData: data)
    }
}
