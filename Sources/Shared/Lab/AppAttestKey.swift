package import Evidence
package import Vocabulary

/// A key of an app on an iPhone, and what App Attest makes with it.
package struct AppAttestKey: Sendable {
    package let key: SigningKey
    /// Team and bundle.
    package let appID: String
    /// Which of Apple's services attests it.
    package let environment: AppAttestEnvironment

    package init(_ key: SigningKey, appID: String, environment: AppAttestEnvironment = .production) {
        self.key = key
        self.appID = appID
        self.environment = environment
    }

    /// The key's id, SHA-256 of its public half.
    package var id: SHA256Digest { sha256(self.key.publicKey.bytes) }

    /// What an attestation of this key says; it has not signed yet.
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

    /// The attestation of this key that says `data`.
    ///
    /// - Parameter time: by which the leaf is dated; the lab's own.
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

    /// The assertion that this key makes as its `counter`th.
    ///
    /// Apple signs the nonce as a message: ECDSA hashes it once more.
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
