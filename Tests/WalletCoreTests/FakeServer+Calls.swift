import Secrets
import Statements
import Vocabulary
import Wire

/// The fake server's handling of each call.
extension FakeServer {
    func terms() -> ServerTerms {
        ServerTerms(
            serverTime: Timestamp(milliseconds: 1_700_000_000_000),
            update: self.withState(\.verdict),
            policy: .standard,
            features: Features(deletionCode: true, safeBiometricUnlock: self.withState(\.wantsSafeMode)),
            solutionRevoked: false,
            limits: ServerTerms.Limits(
                maxInFlight: 16,
                sessionLifetime: .seconds(900),
                tokenLifetime: .seconds(300)
            )
        )
    }

    func begin() -> Enrollment {
        let token = SecretBytes.random(count: 64).exposedBytes()
        let walletID = WalletID.random()
        self.withState { $0.tokens[token] = walletID }
        return Enrollment(
            token: token,
            walletID: walletID,
            expiresAt: Timestamp(milliseconds: 1_700_000_300_000)
        )
    }

    func register(_ request: Register, on binding: ChannelBinding) -> CallResult {
        self.withState { state in
            guard let walletID = state.tokens[request.token], state.records[walletID]?.hadSession != true else {
                return .refused(Refusal(.challengeInvalid))
            }
            guard let body = try? RegisterBody(decoding: request.body),
                let key = VerifyingKey(body.pinPublicKey),
                key.isValid(
                    request.pinSignature,
                    for: Statement(.registerPIN, channelBinding: binding, walletID: walletID, body: request.body)
                )
            else { return .refused(Refusal(.authenticationFailed)) }
            let record = Record(
                pinKey: body.pinPublicKey,
                pinKeyID: body.pinKeyID,
                unlockShare: .random(),
                deletionCode: .random()
            )
            state.records[walletID] = record
            return .register(
                Registration(
                    unlockShare: record.unlockShare,
                    deletionCode: record.deletionCode,
                    receiptKeys: state.receiptLinks
                )
            )
        }
    }

    func open(_ request: OpenSession) -> CallResult {
        self.withState { state in
            guard let record = state.records[request.walletID] else {
                return .refused(Refusal(.authenticationFailed))
            }
            if let revocation = record.revocation { return .openSession(.revoked(revocation)) }
            state.records[request.walletID]?.hadSession = true
            var isWithheld = record.isBlockedPermanently
            if case .block = state.verdict { isWithheld = true }
            return .openSession(
                .active(
                    ActiveWallet(
                        pinKeyID: record.pinKeyID,
                        pinState: record.isBlockedPermanently
                            ? .blockedPermanently : .open(attemptsLeft: 4, finalRound: false),
                        attempts: AttemptCounts(
                            number: record.number,
                            wrongPINs: record.wrongAttempts,
                            lastWrong: record.wrongAttempts > 0 ? Timestamp(milliseconds: 1_699_999_000_000) : nil,
                            epoch: state.epoch
                        ),
                        features: Features(deletionCode: true, safeBiometricUnlock: state.wantsSafeMode),
                        presenceShare: isWithheld ? nil : record.presenceShare,
                        nextPresenceShare: isWithheld ? nil : record.nextPresenceShare,
                        receiptKeys: state.receiptLinks
                    )
                )
            )
        }
    }

    /// The seal of a wallet's identity.
    func seal(of walletID: WalletID) -> Int { self.withState { $0.records[walletID]?.seal ?? 0 } }

    /// Carries out an instruction of a session that knows this seal of the wallet's identity.
    func instruct(_ request: Instruct, of walletID: WalletID, _ seal: Int, on binding: ChannelBinding) -> CallResult {
        guard let body = try? InstructBody(decoding: request.body), let key = VerifyingKey(body.candidate) else {
            return .refused(Refusal(.malformed))
        }
        func statement(_ purpose: Purpose) -> Statement {
            Statement(
                purpose,
                channelBinding: binding,
                walletID: walletID,
                counter: request.counter,
                body: request.body
            )
        }
        guard key.isValid(request.pinSignature, for: statement(.instructPIN)) else {
            return .refused(Refusal(.authenticationFailed))
        }
        if case .changePIN(let newKey, _) = body.instruction {
            guard let signature = request.newPINSignature, let new = VerifyingKey(newKey),
                new.isValid(signature, for: statement(.newPIN))
            else { return .refused(Refusal(.authenticationFailed)) }
            let isCurrent = self.withState { state in
                state.records[walletID].map { $0.pinKeyID != body.pinKeyID || $0.seal == seal } ?? true
            }
            guard isCurrent else { return .refused(Refusal(.sessionRequired)) }
        }
        return self.judge(body, of: walletID)
    }

    func confirm(_ confirmation: ConfirmShares, of walletID: WalletID, _ seal: Int) -> CallResult {
        self.withState { state in
            guard var record = state.records[walletID], record.seal == seal,
                !confirmation.unlock || record.nextUnlockShare != nil,
                !confirmation.presence || record.nextPresenceShare != nil
            else { return .refused(Refusal(.notAllowed)) }
            if confirmation.unlock, let next = record.nextUnlockShare {
                (record.unlockShare, record.nextUnlockShare) = (next, nil)
            }
            if confirmation.presence, let next = record.nextPresenceShare {
                (record.presenceShare, record.nextPresenceShare) = (next, nil)
            }
            record.seal += 1
            state.records[walletID] = record
            return .confirmShares
        }
    }

    private func judge(_ body: InstructBody, of walletID: WalletID) -> CallResult {
        self.withState { state in
            guard var record = state.records[walletID] else { return .refused(Refusal(.authenticationFailed)) }
            if let revocation = record.revocation { return .refused(Refusal(.revoked(revocation))) }
            guard body.pinKeyID == record.pinKeyID else {
                return .refused(Refusal(.pinKeyChanged(current: record.pinKeyID)))
            }
            guard body.candidate == record.pinKey else {
                let isJudged = record.lastWrong != body.attemptID
                if isJudged {
                    record.wrongAttempts += 1
                    record.number += 1
                }
                record.lastWrong = body.attemptID
                state.records[walletID] = record
                let leaf = record.leaf(isJudged ? .wrong : .notJudged, of: body.attemptID, walletID)
                return state.certified(.wrong(.open(attemptsLeft: 3, finalRound: false)), leaf)
            }
            record.number += 1
            let leaf = record.leaf(.right, of: body.attemptID, walletID)
            record.wrongAttempts = 0
            record.lastWrong = nil
            defer { state.records[walletID] = record }
            switch body.instruction {
            case .checkPIN:
                let result = InstructResult.pinValid(unlockShare: record.unlockShare, next: record.nextUnlockShare)
                return state.certified(result, leaf)
            case .changePIN(let newKey, let newKeyID):
                record.pinKey = newKey
                record.pinKeyID = newKeyID
                record.seal += 1
                return state.certified(.pinChanged, leaf)
            case .linkRecoveryCode(let code):
                record.recoveryCode = record.recoveryCode ?? code
                return state.certified(.recoveryCodeLinked, leaf)
            case .showDeletionCode: return state.certified(.deletionCode(record.deletionCode), leaf)
            }
        }
    }
}
