internal import Evidence
internal import Lab
internal import Vocabulary

extension AttestationRequest {
    /// A new key with the attestation object that App Attest returns for it, and the key's id.
    func appAttestKey() -> (key: HardwareKey, object: [UInt8], keyID: [UInt8]) {
        let key = HardwareKey()
        let keyID = sha256(key.key.publicKey.bytes).bytes
        let data = self.authenticatorData(key: key.key.publicKey, keyID: keyID)
        var chain = self.authority.appAttestChain(
            for: key.key.publicKey,
            nonce: AppAttestAssertion.nonce(authenticatorData: data, clientDataHash: self.challenge.bytes),
            issuer: self.issuer,
            at: self.time
        )
        switch self.fault {
        case .missingCertificate: chain[1] = chain[0]
        case .longChain: chain += Array(repeating: chain[1], count: 9)
        default: break
        }
        var object = AppAttestObject(certificates: self.damaged(chain), receipt: nil, authenticatorData: data)
        if self.fault == .otherFormat { object.format = "packed" }
        var encoded = object.encoded
        if self.fault == .truncated { encoded.removeLast() }
        return (key, encoded, self.fault == .wrongKeyID ? sha256(keyID).bytes : keyID)
    }

    private var issuer: AppAttestIssuer {
        switch self.fault {
        case .expired: .expired
        case .notYetValid: .notYetValid
        case .otherRoot: .unknownRoot
        case .unmarkedIssuer: .unmarked
        default: .standard
        }
    }

    private func authenticatorData(key: P256PublicKey, keyID: [UInt8]) -> [UInt8] {
        let isDevelopment = self.profile.usesDevelopmentService != (self.fault == .wrongEnvironment)
        let environment: AppAttestEnvironment = isDevelopment ? .development : .production
        let stated = self.fault == .wrongCredentialKey ? HardwareKey().key.publicKey : key
        return AuthenticatorData(
            rpIDHash: sha256(Array((self.fault == .otherApp ? "OTHERTEAM1.org.example" : self.profile.appID).utf8)),
            flags: self.fault == .noCredentialFlag ? 0 : AuthenticatorData.hasCredential,
            counter: self.fault == .counterNotZero ? 1 : 0,
            credential: AuthenticatorData.Credential(
                aaguid: environment.aaguid,
                id: self.fault == .wrongCredentialID ? sha256(keyID).bytes : keyID,
                key: AuthenticatorData.Credential.coseKey(stated)
            ),
            extensions: nil
        ).encoded
    }
}

extension HardwareKey {
    /// An App Attest assertion with the counter as it stands.
    ///
    /// Apple signs the nonce as a message: ECDSA hashes it once more.
    func assertion(for clientDataHash: SHA256Digest, appID: String) -> [UInt8] {
        let data = AuthenticatorData(
            rpIDHash: sha256(Array(appID.utf8)),
            flags: AuthenticatorData.hasCredential,
            counter: self.counter,
            credential: nil,
            extensions: nil
        ).encoded
        let nonce = AppAttestAssertion.nonce(authenticatorData: data, clientDataHash: clientDataHash.bytes)
        return AppAttestAssertion(
            signature: self.key.derSignature(for: nonce.bytes),
            authenticatorData: data
        ).encoded
    }
}
