import Secrets
import Vocabulary
import Wire

/// One valid message of each kind.
enum Samples {
    static func bytes(_ count: Int, _ seed: UInt8 = 7) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) &+ seed }
    }

    static let key = P256PublicKey(hex: "04" + String(repeating: "5a", count: 64))
    static let signature = P256Signature(Samples.bytes(64))
    static let walletID = WalletID(Samples.bytes(16))
    static let pinKeyID = PINKeyID(Samples.bytes(16, 9))
    static let attemptID = AttemptID(Samples.bytes(16, 11))
    static let digest = SHA256Digest(Samples.bytes(32, 13))
    static let code = DeletionCode("0123456789ABCDEFGH")
    static let appVersion = AppVersion("1.4.0")
    static let osVersion = DeviceText("Android 15")
    static let proof = DeviceProof(Samples.bytes(64))
    static let policy = AttemptPolicy(
        rounds: 4,
        attemptsPerRound: 4,
        blocks: [.seconds(60), .milliseconds(1), .seconds(3600)]
    )

    static func receiptKey(_ id: UInt32) throws(MissingSample) -> ReceiptKeyLink {
        try need(ReceiptKeyLink(ReceiptKey(id: id, publicKey: try need(self.key)), endorsedBy: self.signature))
    }

    /// The second of three receipts.
    static func receipt() throws(MissingSample) -> Receipt {
        let leaf = AttemptLeaf(
            outcome: .wrong,
            wrongPINs: 3,
            walletID: try need(self.walletID),
            attemptID: try need(self.attemptID),
            number: 9,
            lastWrong: nil
        )
        let signed = SignedRoot(
            epoch: 1,
            time: Timestamp(milliseconds: 1_700_000_000_000),
            keyID: 1,
            root: try need(self.digest),
            signature: try need(self.signature)
        )
        var bytes: [UInt8] = []
        leaf.write(to: &bytes)
        return Receipt(leaf: bytes[...], place: 1, leafCount: 3, signedRoot: signed.encoded(), path: self.bytes(64))
    }

    static func calls() throws(MissingSample) -> [Call] {
        let signature = try need(self.signature)
        let proof = try need(self.proof)
        let hello = Hello(
            appVersion: try need(self.appVersion),
            platform: .iOS,
            osVersion: try need(self.osVersion)
        )
        return [
            .hello(hello),
            .beginEnrollment,
            .register(
                Register(token: self.bytes(256), body: self.bytes(33_000), pinSignature: signature, deviceProof: proof)
            ),
            .openSession(
                OpenSession(walletID: try need(self.walletID), body: self.bytes(40), deviceProof: proof)
            ),
            .instruct(Instruct(counter: 1, body: self.bytes(120), pinSignature: signature)),
            .instruct(Instruct(counter: .max, body: [], pinSignature: signature, newPINSignature: signature)),
            .instruct(
                Instruct(counter: 2, body: self.bytes(9), pinSignature: signature)
            ),
            .revokeWithCode("0123-4567-89ab-cdef-gh"),
            .reportWipe,
            .unknown,
        ]
    }

    static func results() throws(MissingSample) -> [CallResult] {
        let share = try need(Share(copying: self.bytes(32)))
        let code = try need(self.code)
        let features = Features(deletionCode: true, safeBiometricUnlock: false)
        let keyID = try need(self.pinKeyID)
        let wallet = try need(self.walletID)
        let revocations =
            Revocation.Reason.allCases.map { Revocation(reason: $0, mayRegisterAnew: $0 == .user) } + [.byDeletionCode]
        var results: [CallResult] = [
            .beginEnrollment(
                Enrollment(
                    token: self.bytes(1),
                    walletID: wallet,
                    expiresAt: Timestamp(milliseconds: 1_700_000_000_000)
                )
            ),
            .register(Registration(unlockShare: share, deletionCode: code)),
            .register(Registration(unlockShare: share, deletionCode: nil)),
            .register(
                Registration(
                    unlockShare: share,
                    deletionCode: nil,
                    receiptKeys: [try self.receiptKey(1), try self.receiptKey(2)]
                )
            ),
            .judged(.pinValid(unlockShare: share), try self.receipt()),
            .judged(.blockedPermanently, try self.receipt()),
            .instruct(.pinValid(unlockShare: share)),
            .instruct(.pinValid(unlockShare: share, next: share)),
            .instruct(.pinChanged),
            .instruct(.recoveryCodeLinked),
            .instruct(.deletionCode(code)),
            .instruct(.blocked(remaining: .milliseconds(1))),
            .instruct(.blockedPermanently),
            .revokeWithCode(.revoked(at: Timestamp(milliseconds: 5))),
            .revokeWithCode(.notRecognised),
            .reportWipe,
            .confirmShares,
        ]
        for verdict in [
            UpdateVerdict.ok, .notify, .recommend, .warn(blockedIn: .seconds(5)), .block(updateAvailable: true),
        ] {
            results.append(.hello(try self.terms(verdict)))
        }
        for state in [
            PINState.open(attemptsLeft: 3, finalRound: true), .blocked(remaining: .seconds(60)), .blockedPermanently,
        ] {
            results.append(.instruct(.wrong(state)))
            let wallet = ActiveWallet(
                pinKeyID: keyID,
                pinState: state,
                attempts: AttemptCounts(
                    number: 9,
                    wrongPINs: state == .blockedPermanently ? 16 : 0,
                    lastWrong: state == .blockedPermanently ? Timestamp(milliseconds: 1_795_000_000_000) : nil,
                    epoch: 2
                ),
                features: features,
                presenceShare: state == .blockedPermanently ? nil : share,
                receiptKeys: state == .blockedPermanently ? [] : [try self.receiptKey(1)]
            )
            results.append(.openSession(.active(wallet)))
        }
        results += revocations.map { .openSession(.revoked($0)) }
        results += try self.reasons().map { .refused(Refusal($0, correlationID: "4f2a")) }
        results += revocations.map { .refused(Refusal(.revoked($0))) }
        return results
    }

    static func reasons() throws(MissingSample) -> [Refusal.Reason] {
        [
            .malformed, .unsupported, .sessionRequired, .authenticationFailed, .outOfOrder, .challengeInvalid,
            .attestationRejected("boot-state"), .notAllowed, .pinKeyChanged(current: try need(self.pinKeyID)),
            .rateLimited(retryAfter: .milliseconds(250)), .unavailable(retryAfter: .zero), .internal,
        ]
    }

    static func terms(_ verdict: UpdateVerdict) throws(MissingSample) -> ServerTerms {
        ServerTerms(
            serverTime: Timestamp(milliseconds: 1_700_000_000_123),
            update: verdict,
            policy: try need(self.policy),
            features: Features(deletionCode: false, safeBiometricUnlock: true),
            solutionRevoked: verdict == .ok,
            limits: ServerTerms.Limits(maxInFlight: 16, sessionLifetime: .seconds(900), tokenLifetime: .seconds(300)),
            pinLength: 8
        )
    }

    static func registerBodies() throws(MissingSample) -> [RegisterBody] {
        let attestations: [Attestation] = [
            .android(certificates: [self.bytes(1), self.bytes(2000), self.bytes(30_000)]),
            .apple(object: self.bytes(32 * 1024), keyID: try need(self.digest)),
        ]
        var bodies: [RegisterBody] = []
        for attestation in attestations {
            for model in [nil, DeviceText("Pixel 9")] {
                let device = DeviceFacts(
                    appVersion: try need(self.appVersion),
                    osVersion: try need(self.osVersion),
                    model: model
                )
                bodies.append(
                    RegisterBody(
                        pinPublicKey: try need(self.key),
                        pinKeyID: try need(self.pinKeyID),
                        attestation: attestation,
                        device: device
                    )
                )
            }
        }
        return bodies
    }

    static func instructBodies() throws(MissingSample) -> [InstructBody] {
        let instructions: [Instruction] = [
            .checkPIN, .changePIN(newKey: try need(self.key), newKeyID: try need(self.pinKeyID)),
            .linkRecoveryCode(try need(RecoveryCode([UInt8](repeating: 0x7E, count: 128)))), .showDeletionCode,
        ]
        var bodies: [InstructBody] = []
        for instruction in instructions {
            bodies.append(
                InstructBody(
                    attemptID: try need(self.attemptID),
                    pinKeyID: try need(self.pinKeyID),
                    candidate: try need(self.key),
                    instruction: instruction
                )
            )
        }
        return bodies
    }

    static func openSessionBody() throws(MissingSample) -> OpenSessionBody {
        OpenSessionBody(appVersion: try need(self.appVersion), osVersion: try need(self.osVersion))
    }

    private static func need<Value>(_ value: Value?) throws(MissingSample) -> Value {
        guard let value else { throw MissingSample() }
        return value
    }
}

/// A sample is not a valid value.
struct MissingSample: Error {}
