internal import RemotePINProto
package import Secrets
package import Vocabulary

/// The answer to the ``Request`` with the same id.
///
/// An error with id 0 is the answer to a frame that was not a request.
package struct Response: Sendable {
    package var id: UInt64
    package var result: CallResult

    package init(id: UInt64, result: CallResult) {
        self.id = id
        self.result = result
    }
}

package enum CallResult: Sendable {
    case hello(ServerTerms)
    case beginEnrollment(Enrollment)
    case register(Registration)
    case openSession(SessionOpening)
    /// An answer without a receipt.
    case instruct(InstructResult)
    /// A verdict with its receipt, which has not been verified yet.
    case judged(InstructResult, Receipt)
    case revokeWithCode(CodeRevocation)
    case reportWipe, confirmShares
    case refused(Refusal)
}

extension CallResult {
    /// The result without its receipt, for callers that do not check receipts.
    package var withoutReceipt: CallResult {
        if case .judged(let result, _) = self { .instruct(result) } else { self }
    }
}

/// The answer to Hello, with the terms on which the server serves this version of the app.
package struct ServerTerms: Hashable, Sendable {
    package var serverTime: Timestamp
    package var update: UpdateVerdict
    /// The number of digits in a PIN, `6...12`.
    ///
    /// Wallets reject anything below six.
    package var pinLength: Int
    package var policy: AttemptPolicy
    package var features: Features
    package var solutionRevoked: Bool
    package var limits: Limits

    package struct Limits: Hashable, Sendable {
        /// The maximum number of calls in flight on a connection, at least 1.
        package var maxInFlight: Int
        package var sessionLifetime: Duration
        package var tokenLifetime: Duration

        package init(maxInFlight: Int, sessionLifetime: Duration, tokenLifetime: Duration) {
            self.maxInFlight = maxInFlight
            self.sessionLifetime = sessionLifetime
            self.tokenLifetime = tokenLifetime
        }
    }

    package init(
        serverTime: Timestamp,
        update: UpdateVerdict,
        policy: AttemptPolicy,
        features: Features,
        solutionRevoked: Bool,
        limits: Limits,
        pinLength: Int = 6
    ) {
        self.serverTime = serverTime
        self.update = update
        self.pinLength = pinLength
        self.policy = policy
        self.features = features
        self.solutionRevoked = solutionRevoked
        self.limits = limits
    }
}

package struct Enrollment: Hashable, Sendable {
    /// The permitted lengths of a token, in bytes.
    package static let allowedTokenByteCounts = 1...256

    /// The token, which is opaque to the client.
    ///
    /// Its SHA-256 digest is the challenge for the attestation.
    package var token: [UInt8]
    package var walletID: WalletID
    package var expiresAt: Timestamp

    package init(token: [UInt8], walletID: WalletID, expiresAt: Timestamp) {
        self.token = token
        self.walletID = walletID
        self.expiresAt = expiresAt
    }
}

package struct Registration: Sendable {
    package var unlockShare: Share
    /// The deletion code, or nil if the feature is off.
    package var deletionCode: DeletionCode?
    /// The receipt keys, in ascending order.
    ///
    /// The last one is used for signing.
    package var receiptKeys: [ReceiptKeyLink]

    package init(unlockShare: Share, deletionCode: DeletionCode?, receiptKeys: [ReceiptKeyLink] = []) {
        self.unlockShare = unlockShare
        self.deletionCode = deletionCode
        self.receiptKeys = receiptKeys
    }
}

package enum SessionOpening: Sendable {
    case active(ActiveWallet)
    case revoked(Revocation)
}

package struct ActiveWallet: Sendable {
    package var pinKeyID: PINKeyID
    package var pinState: PINState
    package var attempts: AttemptCounts
    package var features: Features
    /// The presence share, or nil if the wallet is permanently blocked.
    package var presenceShare: Share?
    /// The share that will replace the presence share once the wallet confirms it, or nil if the shares are not being
    /// replaced.
    package var nextPresenceShare: Share?
    /// The receipt keys, in ascending order.
    ///
    /// The last one is used for signing.
    package var receiptKeys: [ReceiptKeyLink]

    package init(
        pinKeyID: PINKeyID,
        pinState: PINState,
        attempts: AttemptCounts,
        features: Features,
        presenceShare: Share?,
        nextPresenceShare: Share? = nil,
        receiptKeys: [ReceiptKeyLink] = []
    ) {
        self.pinKeyID = pinKeyID
        self.pinState = pinState
        self.attempts = attempts
        self.features = features
        self.presenceShare = presenceShare
        self.nextPresenceShare = nextPresenceShare
        self.receiptKeys = receiptKeys
    }
}

/// The result of an instruction, which requires the right PIN, or the verdict on a wrong PIN.
package enum InstructResult: Sendable {
    /// The PIN was right.
    ///
    /// `next` is the share that will replace this one once the wallet confirms it, or nil if the shares are not being
    /// replaced.
    case pinValid(unlockShare: Share, next: Share? = nil)
    case pinChanged, recoveryCodeLinked
    case deletionCode(DeletionCode)
    /// The PIN was wrong and the attempt was counted.
    ///
    /// The state is the one after this attempt.
    case wrong(PINState)
    case blocked(remaining: Duration)
    case blockedPermanently
}

package enum CodeRevocation: Hashable, Sendable {
    /// The wallet was revoked by this call or an earlier one.
    ///
    /// The time is that of the first revocation.
    case revoked(at: Timestamp)
    case notRecognised
}

extension Response {
    /// Encodes this as the payload of a frame.
    ///
    /// - Important: The frame may contain a share in the clear. It must only be sent over a TLS connection.
    package func encoded() -> [UInt8] {
        encode(remotepin__v1__response__init) { root in
            root.set(\.id, self.id)
            self.result.write(to: root)
        }
    }

    /// Decodes the payload of a frame and checks every length and range.
    ///
    /// Unknown fields are ignored. An unknown result throws ``WireError/missing(_:id:)``, because a client never makes
    /// a call whose answer it cannot read.
    package init(decoding frame: [UInt8]) throws(WireError) {
        self = try decode(frame, remotepin__v1__response__unpack, id: \.id) { root throws(FieldFault) in
            Response(id: root.id, result: try CallResult(reading: root))
        }
    }
}

extension CallResult {
    fileprivate func write(to root: MessageWriter<Remotepin__V1__Response>) {
        switch self {
        case .hello(let terms):
            root.set(\.result_case, REMOTEPIN__V1__RESPONSE__RESULT_HELLO)
            terms.write(to: root.add(\.hello, remotepin__v1__hello_response__init))
        case .beginEnrollment(let enrollment):
            root.set(\.result_case, REMOTEPIN__V1__RESPONSE__RESULT_BEGIN_ENROLLMENT)
            enrollment.write(to: root.add(\.begin_enrollment, remotepin__v1__begin_enrollment_response__init))
        case .register(let registration):
            root.set(\.result_case, REMOTEPIN__V1__RESPONSE__RESULT_REGISTER)
            registration.write(to: root.add(\.register_, remotepin__v1__register_response__init))
        case .openSession(let opening):
            root.set(\.result_case, REMOTEPIN__V1__RESPONSE__RESULT_OPEN_SESSION)
            opening.write(to: root.add(\.open_session, remotepin__v1__open_session_response__init))
        case .instruct(let result):
            root.set(\.result_case, REMOTEPIN__V1__RESPONSE__RESULT_INSTRUCT)
            result.write(to: root.add(\.instruct, remotepin__v1__instruct_response__init))
        case .judged(let result, let receipt):
            root.set(\.result_case, REMOTEPIN__V1__RESPONSE__RESULT_INSTRUCT)
            let message = root.add(\.instruct, remotepin__v1__instruct_response__init)
            result.write(to: message)
            message.set(\.receipt, receipt.bytes)
        case .revokeWithCode(let revocation):
            root.set(\.result_case, REMOTEPIN__V1__RESPONSE__RESULT_REVOKE_WITH_CODE)
            revocation.write(to: root.add(\.revoke_with_code, remotepin__v1__revoke_with_code_response__init))
        case .reportWipe:
            root.set(\.result_case, REMOTEPIN__V1__RESPONSE__RESULT_REPORT_WIPE)
            root.add(\.report_wipe, remotepin__v1__report_wipe_response__init)
        case .confirmShares:
            root.set(\.result_case, REMOTEPIN__V1__RESPONSE__RESULT_CONFIRM_SHARES)
            root.add(\.confirm_shares, remotepin__v1__confirm_shares_response__init)
        case .refused(let refusal):
            root.set(\.result_case, REMOTEPIN__V1__RESPONSE__RESULT_ERROR)
            refusal.write(to: root.add(\.error, remotepin__v1__error__init))
        }
    }

    fileprivate init(reading root: MessageReader<Remotepin__V1__Response>) throws(FieldFault) {
        switch root.result_case {
        case REMOTEPIN__V1__RESPONSE__RESULT_HELLO:
            self = .hello(try ServerTerms(reading: root.part(\.hello, .result)))
        case REMOTEPIN__V1__RESPONSE__RESULT_BEGIN_ENROLLMENT:
            self = .beginEnrollment(try Enrollment(reading: root.part(\.begin_enrollment, .result)))
        case REMOTEPIN__V1__RESPONSE__RESULT_REGISTER:
            self = .register(try Registration(reading: root.part(\.register_, .result)))
        case REMOTEPIN__V1__RESPONSE__RESULT_OPEN_SESSION:
            self = .openSession(try SessionOpening(reading: root.part(\.open_session, .result)))
        case REMOTEPIN__V1__RESPONSE__RESULT_INSTRUCT:
            let message = try root.part(\.instruct, .result)
            let result = try InstructResult(reading: message)
            self = message.isEmpty(\.receipt) ? .instruct(result) : .judged(result, try message.receipt(\.receipt))
        case REMOTEPIN__V1__RESPONSE__RESULT_REVOKE_WITH_CODE:
            self = .revokeWithCode(try CodeRevocation(reading: root.part(\.revoke_with_code, .result)))
        case REMOTEPIN__V1__RESPONSE__RESULT_REPORT_WIPE: self = .reportWipe
        case REMOTEPIN__V1__RESPONSE__RESULT_CONFIRM_SHARES: self = .confirmShares
        case REMOTEPIN__V1__RESPONSE__RESULT_ERROR:
            self = .refused(try Refusal(reading: root.part(\.error, .result)))
        default: throw .missing(.result)
        }
    }
}

extension Enrollment {
    fileprivate func write(to message: MessageWriter<Remotepin__V1__BeginEnrollmentResponse>) {
        message.set(\.token, self.token)
        message.set(\.wallet_id, self.walletID)
        message.set(\.expires_at_ms, self.expiresAt)
    }

    fileprivate init(reading message: MessageReader<Remotepin__V1__BeginEnrollmentResponse>) throws(FieldFault) {
        self.init(
            token: try message.bytes(\.token, .token, in: Self.allowedTokenByteCounts),
            walletID: try message.fixed(\.wallet_id, .walletID),
            expiresAt: try message.time(\.expires_at_ms, .expiresAt)
        )
    }
}

extension Registration {
    fileprivate func write(to message: MessageWriter<Remotepin__V1__RegisterResponse>) {
        message.set(\.unlock_share, self.unlockShare)
        message.set(\.deletion_code, self.deletionCode?.characters)
        message.set(\.receipt_keys, count: \.n_receipt_keys, self.receiptKeys.map(\.bytes))
    }

    fileprivate init(reading message: MessageReader<Remotepin__V1__RegisterResponse>) throws(FieldFault) {
        let code = try message.text(\.deletion_code, .deletionCode, in: 0...DeletionCode.length)
        self.init(
            unlockShare: try message.share(\.unlock_share, .unlockShare),
            deletionCode: code.isEmpty ? nil : try DeletionCode(wire: code),
            receiptKeys: try message.receiptKeys(\.receipt_keys, count: \.n_receipt_keys)
        )
    }
}

extension DeletionCode {
    /// Reads a code, which must have 18 characters.
    init(wire text: String) throws(FieldFault) {
        guard let code = DeletionCode(text) else { throw .invalid(.deletionCode) }
        self = code
    }
}

extension CodeRevocation {
    fileprivate func write(to message: MessageWriter<Remotepin__V1__RevokeWithCodeResponse>) {
        switch self {
        case .revoked(let at):
            message.set(\.result_case, REMOTEPIN__V1__REVOKE_WITH_CODE_RESPONSE__RESULT_REVOKED)
            message.add(\.revoked, remotepin__v1__revoked__init).set(\.revoked_at_ms, at)
        case .notRecognised:
            message.set(\.result_case, REMOTEPIN__V1__REVOKE_WITH_CODE_RESPONSE__RESULT_NOT_RECOGNISED)
            message.add(\.not_recognised, remotepin__v1__not_recognised__init)
        }
    }

    fileprivate init(reading message: MessageReader<Remotepin__V1__RevokeWithCodeResponse>) throws(FieldFault) {
        switch message.result_case {
        case REMOTEPIN__V1__REVOKE_WITH_CODE_RESPONSE__RESULT_REVOKED:
            self = .revoked(at: try message.part(\.revoked, .result).time(\.revoked_at_ms, .revokedAt))
        case REMOTEPIN__V1__REVOKE_WITH_CODE_RESPONSE__RESULT_NOT_RECOGNISED: self = .notRecognised
        default: throw .missing(.result)
        }
    }
}

extension ServerTerms {
    /// The PIN lengths that a server may require.
    package static let allowedPINLengths = 6...12

    func write(to message: MessageWriter<Remotepin__V1__HelloResponse>) {
        message.set(\.server_time_ms, self.serverTime)
        self.update.write(to: message.add(\.update, remotepin__v1__update_verdict__init))
        message.set(\.pin_length, self.pinLength)
        self.policy.write(to: message.add(\.policy, remotepin__v1__attempt_policy__init))
        self.features.write(to: message.add(\.features, remotepin__v1__features__init))
        message.set(
            \.solution,
            self.solutionRevoked
                ? REMOTEPIN__V1__SOLUTION_STATUS__SOLUTION_STATUS_REVOKED
                : REMOTEPIN__V1__SOLUTION_STATUS__SOLUTION_STATUS_ACTIVE
        )
        self.limits.write(to: message.add(\.limits, remotepin__v1__limits__init))
    }

    init(reading message: MessageReader<Remotepin__V1__HelloResponse>) throws(FieldFault) {
        let pinLength = Int(message.pin_length)
        guard Self.allowedPINLengths.contains(pinLength) else { throw .invalid(.pinLength) }
        let solutionRevoked: Bool
        switch message.solution {
        case REMOTEPIN__V1__SOLUTION_STATUS__SOLUTION_STATUS_ACTIVE: solutionRevoked = false
        case REMOTEPIN__V1__SOLUTION_STATUS__SOLUTION_STATUS_REVOKED: solutionRevoked = true
        default: throw .invalid(.solution)
        }
        self.init(
            serverTime: try message.time(\.server_time_ms, .serverTime),
            update: try UpdateVerdict(reading: message.part(\.update, .update)),
            policy: try AttemptPolicy(reading: message.part(\.policy, .policy)),
            features: Features(reading: try message.part(\.features, .features)),
            solutionRevoked: solutionRevoked,
            limits: try Limits(reading: message.part(\.limits, .limits)),
            pinLength: pinLength
        )
    }
}

extension UpdateVerdict {
    fileprivate func write(to message: MessageWriter<Remotepin__V1__UpdateVerdict>) {
        switch self {
        case .ok: message.set(\.kind, REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_OK)
        case .notify: message.set(\.kind, REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_NOTIFY)
        case .recommend: message.set(\.kind, REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_RECOMMEND)
        case .warn(let blockedIn):
            message.set(\.kind, REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_WARN)
            message.set(\.blocked_in_ms, blockedIn)
        case .block(let updateAvailable):
            message.set(\.kind, REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_BLOCK)
            message.set(\.update_available, updateAvailable)
        }
    }

    fileprivate init(reading message: MessageReader<Remotepin__V1__UpdateVerdict>) throws(FieldFault) {
        switch message.kind {
        case REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_OK: self = .ok
        case REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_NOTIFY: self = .notify
        case REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_RECOMMEND: self = .recommend
        case REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_WARN:
            self = .warn(blockedIn: try message.duration(\.blocked_in_ms, .update))
        case REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_BLOCK:
            self = .block(updateAvailable: message.update_available != 0)
        default: throw .invalid(.update)
        }
    }
}

extension AttemptPolicy {
    fileprivate func write(to message: MessageWriter<Remotepin__V1__AttemptPolicy>) {
        message.set(\.rounds, self.rounds)
        message.set(\.attempts_per_round, self.attemptsPerRound)
        message.set(\.block_ms, count: \.n_block_ms, self.blocks.map(\.wireMilliseconds))
    }

    fileprivate init(reading message: MessageReader<Remotepin__V1__AttemptPolicy>) throws(FieldFault) {
        let mostBlocks = AttemptPolicy.allowedRounds.upperBound - 1
        let lengths = AttemptPolicy.allowedBlocks
        let range = lengths.lowerBound.wireMilliseconds...lengths.upperBound.wireMilliseconds
        var blocks: [Duration] = []
        for milliseconds in try message.numbers(\.block_ms, count: \.n_block_ms, .policy, atMost: mostBlocks) {
            blocks.append(try Duration(wireMilliseconds: milliseconds, .policy, in: range))
        }
        guard
            let policy = AttemptPolicy(
                rounds: Int(message.rounds),
                attemptsPerRound: Int(message.attempts_per_round),
                blocks: blocks
            )
        else { throw .invalid(.policy) }
        self = policy
    }
}

extension ServerTerms.Limits {
    fileprivate func write(to message: MessageWriter<Remotepin__V1__Limits>) {
        message.set(\.max_in_flight, self.maxInFlight)
        message.set(\.session_lifetime_ms, self.sessionLifetime)
        message.set(\.token_lifetime_ms, self.tokenLifetime)
    }

    fileprivate init(reading message: MessageReader<Remotepin__V1__Limits>) throws(FieldFault) {
        guard message.max_in_flight >= 1 else { throw .invalid(.maxInFlight) }
        self.init(
            maxInFlight: Int(message.max_in_flight),
            sessionLifetime: try message.duration(\.session_lifetime_ms, .sessionLifetime),
            tokenLifetime: try message.duration(\.token_lifetime_ms, .tokenLifetime)
        )
    }
}

extension InstructResult {
    /// The length that every result is padded to.
    ///
    /// This is the length of the longest result, which contains two unlock shares, plus two bytes of padding.
    ///
    /// Threat: TLS does not hide the length of an answer. If the lengths differed, an observer on the network would
    /// learn every verdict. We pad the message rather than the TLS record, so that this also works if several answers
    /// share a record.
    static let byteCount = 74

    func write(to message: MessageWriter<Remotepin__V1__InstructResponse>) {
        self.writeResult(to: message)
        message.pad(\.padding, to: Self.byteCount)  // rule: wire-length-tells-verdict
    }

    private func writeResult(to message: MessageWriter<Remotepin__V1__InstructResponse>) {
        switch self {
        case .pinValid(let unlockShare, let next):
            message.set(\.result_case, REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_CHECK_PIN)
            let result = message.add(\.check_pin, remotepin__v1__check_pinresult__init)
            result.set(\.unlock_share, unlockShare)
            result.set(\.next_unlock_share, next)
        case .pinChanged:
            message.set(\.result_case, REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_CHANGE_PIN)
            message.add(\.change_pin, remotepin__v1__change_pinresult__init)
        case .recoveryCodeLinked:
            message.set(\.result_case, REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_LINK_RECOVERY_CODE)
            message.add(\.link_recovery_code, remotepin__v1__link_recovery_code_result__init)
        case .deletionCode(let code):
            message.set(\.result_case, REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_SHOW_DELETION_CODE)
            message.add(\.show_deletion_code, remotepin__v1__show_deletion_code_result__init)
                .set(\.deletion_code, code.characters)
        case .wrong(let state):
            message.set(\.result_case, REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_WRONG)
            let wrong = message.add(\.wrong, remotepin__v1__wrong__init)
            state.write(to: wrong.add(\.state, remotepin__v1__pinstate__init))
        case .blocked(let remaining):
            message.set(\.result_case, REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_BLOCKED)
            message.add(\.blocked, remotepin__v1__blocked__init).set(remaining: remaining)
        case .blockedPermanently:
            message.set(\.result_case, REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_BLOCKED_PERMANENTLY)
            message.add(\.blocked_permanently, remotepin__v1__blocked_permanently__init)
        }
    }

    init(reading message: MessageReader<Remotepin__V1__InstructResponse>) throws(FieldFault) {
        switch message.result_case {
        case REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_CHECK_PIN:
            let result = try message.part(\.check_pin, .result)
            self = .pinValid(
                unlockShare: try result.share(\.unlock_share, .unlockShare),
                next: result.isEmpty(\.next_unlock_share)
                    ? nil : try result.share(\.next_unlock_share, .nextUnlockShare)
            )
        case REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_CHANGE_PIN: self = .pinChanged
        case REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_LINK_RECOVERY_CODE: self = .recoveryCodeLinked
        case REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_SHOW_DELETION_CODE:
            let code = try message.part(\.show_deletion_code, .result)
                .text(\.deletion_code, .deletionCode, in: DeletionCode.length...DeletionCode.length)
            self = .deletionCode(try DeletionCode(wire: code))
        case REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_WRONG:
            self = .wrong(try PINState(reading: message.part(\.wrong, .result).part(\.state, .pinState)))
        case REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_BLOCKED:
            self = .blocked(remaining: try message.part(\.blocked, .result).remaining())
        case REMOTEPIN__V1__INSTRUCT_RESPONSE__RESULT_BLOCKED_PERMANENTLY: self = .blockedPermanently
        default: throw .missing(.result)
        }
    }
}
