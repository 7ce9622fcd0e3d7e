internal import AttestationVerifier
internal import Evidence
internal import Logging
internal import Secrets
internal import Statements
internal import Vault
internal import Vocabulary
internal import WalletStore
internal import Wire

extension Conversation {
    /// Turns an enrollment into a wallet, provided that the device and the app are what they claim to be.
    ///
    /// The protocol defines the order of the checks. The token's MAC, its times and whether it was used come first,
    /// followed by the PIN signature, the attestation and the device proof. A used token is rejected before any other
    /// part of the call is examined, so that it cannot serve as an oracle for the wallet that was registered with it.
    mutating func register(_ call: Register) async throws -> CallResult {
        try self.machine.receiveEnrollment()
        try self.requireLease()
        let (server, now) = (self.server, self.server.clock.now())
        let token = try await EnrollmentToken.open(call.token, at: now, by: server.vault)
        let known = try await server.store.identity(of: token.walletID)
        guard known?.mayRegisterAgain ?? true else { throw CallFailure.challengeInvalid(.used) }
        let body = try RegisterBody(decoding: call.body)
        func statement(_ purpose: Purpose) -> Statement {
            Statement(purpose, channelBinding: self.channelBinding, walletID: token.walletID, body: call.body)
        }
        guard VerifyingKey(body.pinPublicKey)?.isValid(call.pinSignature, for: statement(.registerPIN)) == true else {
            throw CallFailure.authentication(.pinSignature)
        }
        let device = try self.attest(body.attestation, token: call.token, at: now)
        let identity = try self.identity(of: device, body: body)
        let finding = server.devices.proofs.check(call.deviceProof, of: statement(.registerDevice), by: identity)
        guard case .good(let counter) = finding else { throw CallFailure.authentication(.deviceProof) }
        return try await self.store(identity, counter: counter, attested: device.json(), as: token.walletID, at: now)
    }

    /// Returns the device that the evidence attests.
    ///
    /// The challenge is the digest of the token, which proves that the evidence was made for this enrollment.
    private func attest(_ attestation: Attestation, token: [UInt8], at now: Timestamp) throws -> AttestedDevice {
        let challenge = Vocabulary.SHA256Digest.of(token)
        let verifier = self.server.devices.attestations.verifier
        let verdict =
            switch attestation {
            case .android(let certificates):
                verifier.verify(android: certificates, challenge: challenge, at: now)
            case .apple(let object, let keyID):
                verifier.verify(
                    appleObject: object,
                    keyID: keyID.bytes,
                    clientDataHash: challenge,
                    at: now
                )
            }
        switch verdict {
        case .success(let device):
            self.server.devices.extensions.note(device.extensions)
            return device
        case .failure(let refusal): throw CallFailure.attestation(refusal.rawValue)
        }
    }

    private func identity(of device: AttestedDevice, body: RegisterBody) throws -> IdentityRecord {
        let record = IdentityRecord(
            platform: device.platform,
            hardwareKey: device.deviceKey,
            appID: device.appID,
            environment: device.environment?.rawValue ?? "",
            pinKey: body.pinPublicKey,
            pinKeyID: body.pinKeyID
        )
        guard let record else { throw CallFailure.attestation("evidence_too_large") }
        return record
    }

    /// Creates and seals the shares and the deletion code, and stores the registration.
    ///
    /// They replace those of an earlier attempt with the same token.
    private mutating func store(
        _ identity: IdentityRecord,
        counter: UInt32?,
        attested: String,
        as walletID: WalletID,
        at now: Timestamp
    ) async throws -> CallResult {
        let (server, vault) = (self.server, self.server.vault)
        let (unlockShare, presenceShare) = (Share.random(), Share.random())
        let code = server.terms.rules.offersDeletionCode ? DeletionCode.random() : nil
        var sealedCode: (sealed: Sealed, digest: Vocabulary.SHA256Digest)?
        if let code {
            let secret = SecretBytes(copying: Array(code.characters.utf8))
            sealedCode = (try await vault.seal(secret, as: .deletionCode, of: walletID), code.lookupDigest)
        }
        let registration = NewRegistration(
            walletID: walletID,
            hardwareKeyDigest: .of(identity.hardwareKey.bytes),
            identity: try await vault.seal(SecretBytes(copying: identity.bytes), as: .identity, of: walletID),
            pinKeyID: identity.pinKeyID,
            unlockShare: try await vault.seal(unlockShare.copy(), as: .unlockShare, of: walletID),
            presenceShare: try await vault.seal(presenceShare.copy(), as: .presenceShare, of: walletID),
            deletionCode: sealedCode,
            assertionCounter: counter,
            attested: attested,
            now: now
        )
        server.registry.join(self.handle, wallet: walletID)
        switch try await server.store.register(registration) {
        case .registered(let version):
            let receiptKeys = try server.receiptKeys(upTo: version)
            self.log.info("wallet registered", metadata: ["wallet": "\(walletID)", "attested": "\(attested)"])
            return .register(
                Registration(unlockShare: unlockShare, deletionCode: code, receiptKeys: receiptKeys)
            )
        case .tokenUsed: throw CallFailure.challengeInvalid(.used)
        case .counterNotIncreased: throw CallFailure.authentication(.assertionCounter)
        case .solutionRevoked: throw CallFailure.revoked(.solution)
        case .hardwareKeyBarred:
            throw CallFailure.revoked(Revocation(reason: .recoveryCode, mayRegisterAnew: false))
        }
    }
}
