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
    package func assertion(
        for clientDataHash: SHA256Digest,
        counter: UInt32,
        extensions: AppAttestExtensions? = nil
    ) -> AppAttestAssertion {
        AppAttestAssertion(of: self.appID, for: clientDataHash, counter: counter, extensions: extensions) {
            self.key.derSignature(for: $0)
        }
    }
}

extension AppAttestAssertion {
    /// Creates an assertion of an app's key.
    ///
    /// Apple signs the nonce as a message, so ECDSA hashes it again.
    ///
    /// - Parameter sign: Returns the key's DER-encoded ECDSA signature of a message, using SHA-256.
    package init(
        of appID: String,
        for clientDataHash: SHA256Digest,
        counter: UInt32,
        extensions: AppAttestExtensions? = nil,
        sign: (_ message: [UInt8]) -> [UInt8]
    ) {
        let data = AuthenticatorData(
            rpIDHash: sha256(Array(appID.utf8)),
            flags: AuthenticatorData.hasCredential,
            counter: counter,
            credential: nil,
            extensions: extensions
        ).encoded
        let nonce = Self.nonce(authenticatorData: data, clientDataHash: clientDataHash.bytes)
        self.init(signature: sign(nonce.bytes), authenticatorData: data)
    }
}
