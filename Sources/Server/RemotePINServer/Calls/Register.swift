internal import AttestationVerifier
internal import Evidence
internal import Logging
internal import Secrets
internal import Statements
internal import Transport
internal import Vault
internal import Vocabulary
internal import WalletStore
internal import Wire

extension Conversation {
    /// Issues an enrollment token.
    ///
    /// The server stores nothing until the token is returned with evidence.
    mutating func beginEnrollment() async throws -> CallResult {
        try self.machine.receiveEnrollment()
        guard try await !self.server.store.isSolutionRevoked() else { throw CallFailure.revoked(.solution) }
        let token = EnrollmentToken.begin(
            at: self.server.clock.now(),
            lifetime: self.server.terms.rules.tokenLifetime
        )
        let bytes = token.sealed(by: self.server.vault)
        if !self.machine.isInSession { self.connection.enrollmentBegun() }  // rule: server-enrollment-cut
        return .beginEnrollment(Enrollment(token: bytes, walletID: token.walletID, expiresAt: token.expiresAt))
    }
}

extension Revocation {
    /// The revocation that applies to every wallet until an operator restores the solution.
    ///
    /// No wallet can be registered until then.
    static let solution = Revocation(reason: .solution, mayRegisterAnew: false)
}

/// The token that completes an enrollment.
///
/// It contains the future wallet id and the time limit. The server does not store any of it, because the vault's MAC
/// proves that the server issued the token. The SHA-256 digest of the token is the attestation challenge, so the
/// evidence must have been made for this enrollment.
struct EnrollmentToken: Hashable {
    let walletID: WalletID
    let issuedAt: Timestamp
    let expiresAt: Timestamp
    /// Sixteen random bytes, which ensure that no two enrollments have the same challenge.
    let nonce: [UInt8]

    private static let version: UInt8 = 1
    private static let nonceByteCount = 16
    private static let payloadByteCount = 1 + 16 + 8 + 8 + Self.nonceByteCount
    private static let macByteCount = 32
    /// The maximum difference allowed between the clocks of two servers.
    private static let clockSkew: Duration = .seconds(60)

    /// Creates a token with a wallet id that has never been used.
    static func begin(at now: Timestamp, lifetime: Duration) -> EnrollmentToken {
        var generator = SystemRandomNumberGenerator()
        return EnrollmentToken(
            walletID: .random(using: &generator),
            issuedAt: now,
            expiresAt: now + lifetime,
            nonce: (0..<Self.nonceByteCount).map { _ in .random(in: .min ... .max, using: &generator) }
        )
    }

    /// The bytes covered by the MAC: version ‖ wallet id ‖ time of issue ‖ expiry ‖ nonce.
    var payload: [UInt8] {
        [Self.version] + self.walletID.bytes + self.issuedAt.milliseconds.bigEndianBytes
            + self.expiresAt.milliseconds.bigEndianBytes + self.nonce
    }

    /// Returns the token as sent to the client.
    func sealed(by vault: any Vault) -> [UInt8] {
        self.payload + vault.mac(self.payload, for: .enrollmentToken)
    }

    /// Verifies a token's MAC and then its times.
    static func open(_ bytes: [UInt8], at now: Timestamp, by vault: any Vault) throws(CallFailure) -> EnrollmentToken {
        guard bytes.count == Self.payloadByteCount + Self.macByteCount else {
            throw CallFailure.challengeInvalid(.notOurs)
        }
        let payload = Array(bytes.prefix(Self.payloadByteCount))
        let mac = Array(bytes.dropFirst(Self.payloadByteCount))
        let isOurs = vault.isMAC(mac, of: payload, for: .enrollmentToken)
        guard isOurs, let token = EnrollmentToken(payload: payload) else {  // rule: server-token-mac-not-checked
            throw CallFailure.challengeInvalid(.notOurs)
        }
        guard now < token.expiresAt, token.issuedAt <= now + Self.clockSkew else {  // rule: server-token-never-expires
            throw CallFailure.challengeInvalid(.expired)
        }
        return token
    }

    private init(walletID: WalletID, issuedAt: Timestamp, expiresAt: Timestamp, nonce: [UInt8]) {
        self.walletID = walletID
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.nonce = nonce
    }

    private init?(payload: [UInt8]) {
        guard payload.count == Self.payloadByteCount, payload[0] == Self.version,
            let walletID = WalletID(payload[1..<17])
        else { return nil }
        self.init(
            walletID: walletID,
            issuedAt: Timestamp(milliseconds: Int64(bitPattern: payload[17..<25].bigEndian)),
            expiresAt: Timestamp(milliseconds: Int64(bitPattern: payload[25..<33].bigEndian)),
            nonce: Array(payload[33...])
        )
    }
}

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
        let token = try EnrollmentToken.open(call.token, at: now, by: server.vault)
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
        let identity = try self.identity(of: device)
        let finding = server.devices.proofs.check(call.deviceProof, of: statement(.registerDevice), by: identity)
        guard case .good(let counter) = finding else { throw CallFailure.authentication(.deviceProof) }
        return try await self.store(
            identity,
            (key: body.pinPublicKey, id: body.pinKeyID),
            counter: counter,
            attested: device.json(),
            as: token.walletID,
            at: now
        )
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

    private func identity(of device: AttestedDevice) throws -> IdentityRecord {
        let record = IdentityRecord(
            platform: device.platform,
            hardwareKey: device.deviceKey,
            appID: device.appID,
            environment: device.environment?.rawValue ?? ""
        )
        guard let record else { throw CallFailure.attestation("evidence_too_large") }
        return record
    }

    /// Creates and seals the shares and the deletion code, and stores the registration.
    ///
    /// They replace those of an earlier attempt with the same token.
    private mutating func store(
        _ identity: IdentityRecord,
        _ pin: (key: P256PublicKey, id: PINKeyID),
        counter: UInt32?,
        attested: String,
        as walletID: WalletID,
        at now: Timestamp
    ) async throws -> CallResult {
        let server = self.server
        let keys = try await server.vault.keys(of: walletID, opening: [])
        let (unlockShare, presenceShare) = (Share.random(), Share.random())
        let code = server.terms.rules.offersDeletionCode ? DeletionCode.random() : nil
        var sealedCode: (sealed: Sealed, digest: Vocabulary.SHA256Digest)?
        if let code {
            let secret = SecretBytes(copying: Array(code.characters.utf8))
            sealedCode = (try keys.seal(secret, as: .deletionCode), code.lookupDigest)
        }
        let registration = NewRegistration(
            walletID: walletID,
            hardwareKeyDigest: .of(identity.hardwareKey.bytes),
            identity: try self.seal(identity, pin.key, with: keys).sealed,
            pinKeyID: pin.id,
            unlockShare: try keys.seal(unlockShare.copy(), as: .unlockShare),
            presenceShare: try keys.seal(presenceShare.copy(), as: .presenceShare),
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
