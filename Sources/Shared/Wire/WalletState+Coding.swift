internal import CProtobufC
internal import RemotePINProto
internal import Secrets
internal import Vocabulary

// What several answers say of a wallet: features, revocation, the state of its PIN.

extension Features {
    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__Features> {
        let message = unsafe arena.place(remotepin__v1__features__init)
        unsafe message.pointee.deletion_code = self.deletionCode ? 1 : 0
        unsafe message.pointee.safe_biometric_unlock = self.safeBiometricUnlock ? 1 : 0
        return unsafe message
    }

    /// Copies the message out of the tree.
    init(copying message: Remotepin__V1__Features) {
        self.init(
            deletionCode: unsafe message.deletion_code != 0,
            safeBiometricUnlock: unsafe message.safe_biometric_unlock != 0
        )
    }
}

extension Revocation {
    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__Revocation> {
        let message = unsafe arena.place(remotepin__v1__revocation__init)
        unsafe message.pointee.reason =
            switch self.reason {
            case .user: REMOTEPIN__V1__REVOCATION__REASON__REASON_USER
            case .wallet: REMOTEPIN__V1__REVOCATION__REASON__REASON_WALLET
            case .recoveryCode: REMOTEPIN__V1__REVOCATION__REASON__REASON_RECOVERY_CODE
            case .solution: REMOTEPIN__V1__REVOCATION__REASON__REASON_SOLUTION
            }
        unsafe message.pointee.may_register_anew = self.mayRegisterAnew ? 1 : 0
        return unsafe message
    }

    /// Copies the message out of the tree.
    init(copying message: Remotepin__V1__Revocation) throws(FieldFault) {
        let reason: Reason
        switch unsafe message.reason {
        case REMOTEPIN__V1__REVOCATION__REASON__REASON_USER: reason = .user
        case REMOTEPIN__V1__REVOCATION__REASON__REASON_WALLET: reason = .wallet
        case REMOTEPIN__V1__REVOCATION__REASON__REASON_RECOVERY_CODE: reason = .recoveryCode
        case REMOTEPIN__V1__REVOCATION__REASON__REASON_SOLUTION: reason = .solution
        default: throw .invalid(.revocation)
        }
        self.init(reason: reason, mayRegisterAnew: unsafe message.may_register_anew != 0)
    }
}

extension PINState {
    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__PINState> {
        let message = unsafe arena.place(remotepin__v1__pinstate__init)
        switch self {
        case .open(let attemptsLeft, let finalRound):
            let open = unsafe arena.place(remotepin__v1__open__init)
            unsafe open.pointee.attempts_left = UInt32(clamping: attemptsLeft)
            unsafe open.pointee.final_round = finalRound ? 1 : 0
            unsafe message.pointee.state_case = REMOTEPIN__V1__PINSTATE__STATE_OPEN
            unsafe message.pointee.open = unsafe open
        case .blocked(let remaining):
            unsafe message.pointee.state_case = REMOTEPIN__V1__PINSTATE__STATE_BLOCKED
            unsafe message.pointee.blocked = arena.placeBlocked(remaining: remaining)
        case .blockedPermanently:
            unsafe message.pointee.state_case = REMOTEPIN__V1__PINSTATE__STATE_BLOCKED_PERMANENTLY
            unsafe message.pointee.blocked_permanently = arena.place(remotepin__v1__blocked_permanently__init)
        }
        return unsafe message
    }

    /// Copies the message out of the tree.
    init(copying message: UnsafeMutablePointer<Remotepin__V1__PINState>) throws(FieldFault) {
        switch unsafe message.pointee.state_case {
        case REMOTEPIN__V1__PINSTATE__STATE_OPEN:
            let open = unsafe message.pointee.open.pointee
            let attemptsLeft = unsafe Int(open.attempts_left)
            guard AttemptPolicy.allowedAttempts.contains(attemptsLeft) else { throw .invalid(.attemptsLeft) }
            self = .open(attemptsLeft: attemptsLeft, finalRound: unsafe open.final_round != 0)
        case REMOTEPIN__V1__PINSTATE__STATE_BLOCKED:
            self = .blocked(remaining: try unsafe remaining(copying: message.pointee.blocked.pointee))
        case REMOTEPIN__V1__PINSTATE__STATE_BLOCKED_PERMANENTLY:
            self = .blockedPermanently
        default:
            throw .missing(.pinState)
        }
    }
}

extension Arena {
    /// A block of at least a millisecond: none of zero length is ever told.
    borrowing func placeBlocked(remaining: Duration) -> UnsafeMutablePointer<Remotepin__V1__Blocked> {
        let blocked = unsafe self.place(remotepin__v1__blocked__init)
        unsafe blocked.pointee.remaining_ms = max(1, remaining.wireMilliseconds)
        return unsafe blocked
    }
}

/// The rest of a block, at least a millisecond.
func remaining(copying message: Remotepin__V1__Blocked) throws(FieldFault) -> Duration {
    try unsafe Duration(wireMilliseconds: message.remaining_ms, .remaining, in: 1...(.max))
}

extension SessionOpening {
    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__OpenSessionResponse> {
        let message = unsafe arena.place(remotepin__v1__open_session_response__init)
        switch self {
        case .active(let wallet):
            unsafe message.pointee.status_case = REMOTEPIN__V1__OPEN_SESSION_RESPONSE__STATUS_ACTIVE
            unsafe message.pointee.active = wallet.placed(in: arena)
        case .revoked(let revocation):
            unsafe message.pointee.status_case = REMOTEPIN__V1__OPEN_SESSION_RESPONSE__STATUS_REVOKED
            unsafe message.pointee.revoked = revocation.placed(in: arena)
        }
        return unsafe message
    }

    /// Copies the message out of the tree.
    init(copying message: UnsafeMutablePointer<Remotepin__V1__OpenSessionResponse>) throws(FieldFault) {
        switch unsafe message.pointee.status_case {
        case REMOTEPIN__V1__OPEN_SESSION_RESPONSE__STATUS_ACTIVE:
            self = .active(try unsafe ActiveWallet(copying: message.pointee.active.pointee))
        case REMOTEPIN__V1__OPEN_SESSION_RESPONSE__STATUS_REVOKED:
            self = .revoked(try unsafe Revocation(copying: message.pointee.revoked.pointee))
        default:
            throw .missing(.status)
        }
    }
}

extension ActiveWallet {
    fileprivate func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__ActiveWallet> {
        let message = unsafe arena.place(remotepin__v1__active_wallet__init)
        unsafe message.pointee.pin_key_id = arena.bytes(self.pinKeyID)
        unsafe message.pointee.pin_state = self.pinState.placed(in: arena)
        unsafe message.pointee.features = self.features.placed(in: arena)
        if let share = self.presenceShare { unsafe message.pointee.presence_share = arena.bytes(share) }
        return unsafe message
    }

    fileprivate init(copying message: Remotepin__V1__ActiveWallet) throws(FieldFault) {
        self.init(
            pinKeyID: try unsafe message.pin_key_id.fixed(.pinKeyID),
            pinState: try unsafe PINState(copying: required(message.pin_state, .pinState)),
            features: try unsafe Features(copying: required(message.features, .features).pointee),
            presenceShare: unsafe message.presence_share.isEmpty
                ? nil : try unsafe message.presence_share.share(.presenceShare)
        )
    }
}
