package import Evidence
package import Vocabulary

/// A key of an app on an iPhone, with its App Attest attestation and assertions.
package struct AppAttestKey: Sendable {
    package let key: SigningKey
    /// Team and bundle id.
    package let appID: String
    /// Apple's service that attests the key.
    package let environment: AppAttestEnvironment

    package init(_ key: SigningKey, appID: String, environment: AppAttestEnvironment = .production) {
        self.key = key
        self.appID = appID
        self.environment = environment
    }

    /// The key's id, SHA-256 of its public half.
    package var id: SHA256Digest { sha256(self.key.publicKey.bytes) }

    /// The authenticator data for an attestation of this key, before it has signed anything.
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

    /// The attestation of this key with the authenticator data `data`.
    ///
    /// - Parameter time: The lab's time, for the validity of the leaf.
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

    /// The assertion of this key with the given counter.
    ///
    /// Apple signs the nonce as a message, so ECDSA hashes it again.
    package func assertion(for clientDataHash: SHA256Digest, counter: UInt32) -> AppAttestAssertion {
        let data = AuthenticatorData(
            rpIDHash: sha256(Array(self.appID.utf8)),
            flags: AuthenticatorData.hasCredential,
            counter: counter,
            credential: nil,
            extensions: nil
        ).encoded
        let nonce = AppAttestAssertion.nonce(authenticatorData: data, clientDataHash: clientDataHash.bytes)
        return AppAttestAssertion(signature: self.key.derSignature(for: nonce.bytes), authenticatorData: data)
    }
}
