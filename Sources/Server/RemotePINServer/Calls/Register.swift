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
    /// Turns an enrollment into a wallet, if the device and the app are what they claim to be.
    ///
    /// The order of the checks is the protocol's: token's MAC, time, use; PIN signature; attestation; device proof. A
    /// used token is refused before anything else is looked at, so that it is no oracle for the wallet it became.
    mutating func register(_ call: Register) async throws(CallFailure) -> CallResult {
        try self.inOrder { machine throws(OrderViolation) in try machine.receiveEnrollment() }
        let (services, now) = (self.services, self.services.clock.now())
        let token = try await EnrollmentToken.open(call.token, at: now, by: services.vault)
        let known = try await stored { () throws(StoreError) in try await services.store.identity(of: token.walletID) }
        guard known?.mayRegisterAgain ?? true else { throw .challengeInvalid(.used) }
        let body: RegisterBody
        do throws(WireError) {
            body = try RegisterBody(decoding: call.body)
        } catch {
            throw .malformed(error)
        }
        func statement(_ purpose: Purpose) -> Statement {
            Statement(purpose, channelBinding: self.channelBinding, walletID: token.walletID, body: call.body)
        }
        guard VerifyingKey(body.pinPublicKey)?.isValid(call.pinSignature, for: statement(.registerPIN)) == true else {
            throw .authentication(.pinSignature)
        }
        let device = try self.attest(body.attestation, token: call.token, at: now)
        let identity = try self.identity(of: device, body: body)
        guard
            case .good(let counter) = services.proofs.check(
                call.deviceProof,
                of: statement(.registerDevice),
                by: identity
            )
        else { throw .authentication(.deviceProof) }
        return try await self.keep(identity, counter: counter, attested: device.json(), as: token.walletID, at: now)
    }

    /// The verifier's word on the evidence; its challenge is the token's digest, so it was made for this enrollment.
    private func attest(
        _ attestation: Attestation,
        token: [UInt8],
        at now: Timestamp
    ) throws(CallFailure) -> AttestedDevice {
        let challenge = Vocabulary.SHA256Digest.of(token)
        let verifier = self.services.attestations.verifier
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
        case .success(let device): return device
        case .failure(let refusal): throw .attestation(refusal.rawValue)
        }
    }

    private func identity(of device: AttestedDevice, body: RegisterBody) throws(CallFailure) -> IdentityRecord {
        let record = IdentityRecord(
            platform: device.platform,
            hardwareKey: device.deviceKey,
            appID: device.appID,
            environment: device.environment?.rawValue ?? "",
            pinKey: body.pinPublicKey,
            pinKeyID: body.pinKeyID
        )
        guard let record else { throw .attestation("evidence_too_large") }
        return record
    }

    /// Makes shares and code, seals them and keeps the registration; all of them replace those of an earlier try.
    private mutating func keep(
        _ identity: IdentityRecord,
        counter: UInt32?,
        attested: String,
        as walletID: WalletID,
        at now: Timestamp
    ) async throws(CallFailure) -> CallResult {
        let services = self.services
        let (unlockShare, presenceShare) = (Share.random(), Share.random())
        let code = services.rules.offersDeletionCode ? DeletionCode.random() : nil
        let registration = try await vaulted { () throws(VaultError) in
            var sealedCode: (sealed: Sealed, digest: Vocabulary.SHA256Digest)?
            if let code {
                let secret = SecretBytes(copying: Array(code.characters.utf8))
                let sealed = try await services.vault.seal(secret, as: .deletionCode, of: walletID)
                sealedCode = (sealed, services.lookup(code))
            }
            let bytes = SecretBytes(copying: identity.bytes)
            return NewRegistration(
                walletID: walletID,
                hardwareKeyDigest: .of(identity.hardwareKey.bytes),
                identity: try await services.vault.seal(bytes, as: .identity, of: walletID),
                pinKeyID: identity.pinKeyID,
                unlockShare: try await services.vault.seal(unlockShare.copy(), as: .unlockShare, of: walletID),
                presenceShare: try await services.vault.seal(presenceShare.copy(), as: .presenceShare, of: walletID),
                deletionCode: sealedCode,
                assertionCounter: counter,
                attested: attested,
                now: now
            )
        }
        services.registry.join(self.live, wallet: walletID)
        switch try await stored({ () throws(StoreError) in try await services.store.register(registration) }) {
        case .registered:
            self.log.info("wallet registered", metadata: ["wallet": "\(walletID)", "attested": "\(attested)"])
            return .register(Registration(unlockShare: unlockShare, deletionCode: code))
        case .tokenUsed: throw .challengeInvalid(.used)
        case .counterNotIncreased: throw .authentication(.assertionCounter)
        case .solutionRevoked: throw .revoked(.solution)
        }
    }
}
