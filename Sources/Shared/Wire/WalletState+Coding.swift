internal import CProtobufC
internal import RemotePINProto
internal import Secrets
internal import Vocabulary

// The parts that several answers have in common: features, revocation and PIN state.

extension Features {
    func write(to message: MessageWriter<Remotepin__V1__Features>) {
        message.set(\.deletion_code, self.deletionCode)
        message.set(\.safe_biometric_unlock, self.safeBiometricUnlock)
    }

    init(reading message: MessageReader<Remotepin__V1__Features>) {
        self.init(deletionCode: message.deletion_code != 0, safeBiometricUnlock: message.safe_biometric_unlock != 0)
    }
}

extension Revocation {
    func write(to message: MessageWriter<Remotepin__V1__Revocation>) {
        switch self.reason {
        case .user: message.set(\.reason, REMOTEPIN__V1__REVOCATION__REASON__REASON_USER)
        case .wallet: message.set(\.reason, REMOTEPIN__V1__REVOCATION__REASON__REASON_WALLET)
        case .recoveryCode: message.set(\.reason, REMOTEPIN__V1__REVOCATION__REASON__REASON_RECOVERY_CODE)
        case .solution: message.set(\.reason, REMOTEPIN__V1__REVOCATION__REASON__REASON_SOLUTION)
        }
        message.set(\.may_register_anew, self.mayRegisterAnew)
        message.set(\.with_deletion_code, self.withDeletionCode)
    }

    init(reading message: MessageReader<Remotepin__V1__Revocation>) throws(FieldFault) {
        let reason: Reason
        switch message.reason {
        case REMOTEPIN__V1__REVOCATION__REASON__REASON_USER: reason = .user
        case REMOTEPIN__V1__REVOCATION__REASON__REASON_WALLET: reason = .wallet
        case REMOTEPIN__V1__REVOCATION__REASON__REASON_RECOVERY_CODE: reason = .recoveryCode
        case REMOTEPIN__V1__REVOCATION__REASON__REASON_SOLUTION: reason = .solution
        default: throw .invalid(.revocation)
        }
        self.init(
            reason: reason,
            mayRegisterAnew: message.may_register_anew != 0,
            withDeletionCode: message.with_deletion_code != 0
        )
    }
}

extension PINState {
    func write(to message: MessageWriter<Remotepin__V1__PINState>) {
        switch self {
        case .open(let attemptsLeft, let finalRound):
            message.set(\.state_case, REMOTEPIN__V1__PINSTATE__STATE_OPEN)
            let open = message.add(\.open, remotepin__v1__open__init)
            open.set(\.attempts_left, attemptsLeft)
            open.set(\.final_round, finalRound)
        case .blocked(let remaining):
            message.set(\.state_case, REMOTEPIN__V1__PINSTATE__STATE_BLOCKED)
            message.add(\.blocked, remotepin__v1__blocked__init).set(remaining: remaining)
        case .blockedPermanently:
            message.set(\.state_case, REMOTEPIN__V1__PINSTATE__STATE_BLOCKED_PERMANENTLY)
            message.add(\.blocked_permanently, remotepin__v1__blocked_permanently__init)
        }
    }

    init(reading message: MessageReader<Remotepin__V1__PINState>) throws(FieldFault) {
        switch message.state_case {
        case REMOTEPIN__V1__PINSTATE__STATE_OPEN:
            let open = try message.part(\.open, .pinState)
            let attemptsLeft = Int(open.attempts_left)
            guard AttemptPolicy.allowedAttempts.contains(attemptsLeft) else { throw .invalid(.attemptsLeft) }
            self = .open(attemptsLeft: attemptsLeft, finalRound: open.final_round != 0)
        case REMOTEPIN__V1__PINSTATE__STATE_BLOCKED:
            self = .blocked(remaining: try message.part(\.blocked, .pinState).remaining())
        case REMOTEPIN__V1__PINSTATE__STATE_BLOCKED_PERMANENTLY: self = .blockedPermanently
        default: throw .missing(.pinState)
        }
    }
}

extension MessageWriter<Remotepin__V1__Blocked> {
    /// Sets the remaining time of a block.
    ///
    /// This is at least a millisecond, because a block with no time left is never sent.
    func set(remaining: Duration) { self.set(\.remaining_ms, max(1, remaining.wireMilliseconds)) }
}

extension MessageReader<Remotepin__V1__Blocked> {
    /// Returns the remaining time of a block, at least a millisecond.
    func remaining() throws(FieldFault) -> Duration {
        try self.duration(\.remaining_ms, .remaining, in: 1...(.max))
    }
}

extension SessionOpening {
    func write(to message: MessageWriter<Remotepin__V1__OpenSessionResponse>) {
        switch self {
        case .active(let wallet):
            message.set(\.status_case, REMOTEPIN__V1__OPEN_SESSION_RESPONSE__STATUS_ACTIVE)
            wallet.write(to: message.add(\.active, remotepin__v1__active_wallet__init))
        case .revoked(let revocation):
            message.set(\.status_case, REMOTEPIN__V1__OPEN_SESSION_RESPONSE__STATUS_REVOKED)
            revocation.write(to: message.add(\.revoked, remotepin__v1__revocation__init))
        }
    }

    init(reading message: MessageReader<Remotepin__V1__OpenSessionResponse>) throws(FieldFault) {
        switch message.status_case {
        case REMOTEPIN__V1__OPEN_SESSION_RESPONSE__STATUS_ACTIVE:
            self = .active(try ActiveWallet(reading: message.part(\.active, .status)))
        case REMOTEPIN__V1__OPEN_SESSION_RESPONSE__STATUS_REVOKED:
            self = .revoked(try Revocation(reading: message.part(\.revoked, .status)))
        default: throw .missing(.status)
        }
    }
}

extension ActiveWallet {
    fileprivate func write(to message: MessageWriter<Remotepin__V1__ActiveWallet>) {
        message.set(\.pin_key_id, self.pinKeyID)
        self.pinState.write(to: message.add(\.pin_state, remotepin__v1__pinstate__init))
        self.features.write(to: message.add(\.features, remotepin__v1__features__init))
        message.set(\.presence_share, self.presenceShare)
        message.set(\.next_presence_share, self.nextPresenceShare)
        message.set(\.receipt_keys, count: \.n_receipt_keys, self.receiptKeys.map(\.bytes))
        message.set(\.attempts, self.attempts.encoded())
    }

    fileprivate init(reading message: MessageReader<Remotepin__V1__ActiveWallet>) throws(FieldFault) {
        let byteCounts = AttemptCounts.byteCount...AttemptCounts.byteCount
        guard let attempts = AttemptCounts(decoding: try message.bytes(\.attempts, .attempts, in: byteCounts)) else {
            throw .invalid(.attempts)
        }
        self.init(
            pinKeyID: try message.fixed(\.pin_key_id, .pinKeyID),
            pinState: try PINState(reading: message.part(\.pin_state, .pinState)),
            attempts: attempts,
            features: Features(reading: try message.part(\.features, .features)),
            presenceShare: message.isEmpty(\.presence_share)
                ? nil : try message.share(\.presence_share, .presenceShare),
            nextPresenceShare: message.isEmpty(\.next_presence_share)
                ? nil : try message.share(\.next_presence_share, .nextPresenceShare),
            receiptKeys: try message.receiptKeys(\.receipt_keys, count: \.n_receipt_keys)
        )
    }
}

extension MessageReader {
    /// Returns a receipt, whose signature has not been verified yet.
    @inline(__always) @safe func receipt(_ field: BytesField) throws(FieldFault) -> Receipt {
        let bytes = try self.bytes(field, .receipt, in: Receipt.allowedByteCounts)
        guard let receipt = Receipt(bytes) else { throw .invalid(.receipt) }
        return receipt
    }

    /// Returns the receipt keys, whose signatures have not been verified yet.
    @inline(__always) @safe func receiptKeys(
        _ field: PartField<ProtobufCBinaryData>,
        count: KeyPath<Message, Int>
    ) throws(FieldFault) -> [ReceiptKeyLink] {
        let most = ReceiptKeyLink.mostLinks
        let links = try self.byteStrings(
            field,
            count: count,
            .receiptKeys,
            in: 0...most,
            totalByteCount: most * ReceiptKeyLink.byteCount
        )
        var keys: [ReceiptKeyLink] = []
        for link in links {
            guard let key = ReceiptKeyLink(decoding: link) else { throw .invalid(.receiptKeys) }
            keys.append(key)
        }
        return keys
    }
}

// Times in messages are sent as unsigned milliseconds.

extension Duration {
    /// Creates a duration from a number of milliseconds, which must be in `range`.
    init(wireMilliseconds: UInt64, _ field: WireField, in range: ClosedRange<UInt64>) throws(FieldFault) {
        guard range.contains(wireMilliseconds), let milliseconds = Int64(exactly: wireMilliseconds) else {
            throw .invalid(field)
        }
        self = .milliseconds(milliseconds)
    }

    /// The duration in whole milliseconds; negative durations are sent as zero.
    var wireMilliseconds: UInt64 { UInt64(max(0, self.milliseconds)) }
}

extension Timestamp {
    /// Creates a point in time, which must fit into 63 bits.
    init(wireMilliseconds: UInt64, _ field: WireField) throws(FieldFault) {
        guard let milliseconds = Int64(exactly: wireMilliseconds) else { throw .invalid(field) }
        self.init(milliseconds: milliseconds)
    }

    /// The time in milliseconds since 1970.
    ///
    /// Earlier times are sent as 1970.
    var wireMilliseconds: UInt64 { UInt64(max(0, self.milliseconds)) }
}
