internal import CProtobufC
internal import RemotePINProto
internal import Vocabulary

extension ServerTerms {
    /// Digits of a PIN that a server may ask for.
    package static let allowedPINLengths = 6...12

    /// The message in the arena.
    func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__HelloResponse> {
        let message = unsafe arena.place(remotepin__v1__hello_response__init)
        unsafe message.pointee.server_time_ms = self.serverTime.wireMilliseconds
        unsafe message.pointee.update = self.update.placed(in: arena)
        unsafe message.pointee.pin_length = UInt32(clamping: self.pinLength)
        unsafe message.pointee.policy = self.policy.placed(in: arena)
        unsafe message.pointee.features = self.features.placed(in: arena)
        unsafe message.pointee.solution =
            self.solutionRevoked
            ? REMOTEPIN__V1__SOLUTION_STATUS__SOLUTION_STATUS_REVOKED
            : REMOTEPIN__V1__SOLUTION_STATUS__SOLUTION_STATUS_ACTIVE
        unsafe message.pointee.limits = self.limits.placed(in: arena)
        return unsafe message
    }

    /// Copies the message out of the tree.
    init(copying message: Remotepin__V1__HelloResponse) throws(FieldFault) {
        let pinLength = unsafe Int(message.pin_length)
        guard Self.allowedPINLengths.contains(pinLength) else { throw .invalid(.pinLength) }
        let solutionRevoked: Bool
        switch unsafe message.solution {
        case REMOTEPIN__V1__SOLUTION_STATUS__SOLUTION_STATUS_ACTIVE: solutionRevoked = false
        case REMOTEPIN__V1__SOLUTION_STATUS__SOLUTION_STATUS_REVOKED: solutionRevoked = true
        default: throw .invalid(.solution)
        }
        self.init(
            serverTime: try unsafe Timestamp(wireMilliseconds: message.server_time_ms, .serverTime),
            update: try unsafe UpdateVerdict(copying: required(message.update, .update).pointee),
            policy: try unsafe AttemptPolicy(copying: required(message.policy, .policy).pointee),
            features: try unsafe Features(copying: required(message.features, .features).pointee),
            solutionRevoked: solutionRevoked,
            limits: try unsafe Limits(copying: required(message.limits, .limits).pointee),
            pinLength: pinLength
        )
    }
}

extension UpdateVerdict {
    fileprivate func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__UpdateVerdict> {
        let message = unsafe arena.place(remotepin__v1__update_verdict__init)
        switch self {
        case .ok:
            unsafe message.pointee.kind = REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_OK
        case .notify:
            unsafe message.pointee.kind = REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_NOTIFY
        case .recommend:
            unsafe message.pointee.kind = REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_RECOMMEND
        case .warn(let blockedIn):
            unsafe message.pointee.kind = REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_WARN
            unsafe message.pointee.blocked_in_ms = blockedIn.wireMilliseconds
        case .block(let updateAvailable):
            unsafe message.pointee.kind = REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_BLOCK
            unsafe message.pointee.update_available = updateAvailable ? 1 : 0
        }
        return unsafe message
    }

    fileprivate init(copying message: Remotepin__V1__UpdateVerdict) throws(FieldFault) {
        switch unsafe message.kind {
        case REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_OK: self = .ok
        case REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_NOTIFY: self = .notify
        case REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_RECOMMEND: self = .recommend
        case REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_WARN:
            self = .warn(
                blockedIn: try unsafe Duration(wireMilliseconds: message.blocked_in_ms, .update, in: 0...(.max))
            )
        case REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_BLOCK:
            self = unsafe .block(updateAvailable: message.update_available != 0)
        default: throw .invalid(.update)
        }
    }
}

extension AttemptPolicy {
    fileprivate func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__AttemptPolicy> {
        let message = unsafe arena.place(remotepin__v1__attempt_policy__init)
        let blocks = unsafe arena.pieces(of: UInt64.self, count: self.blocks.count)
        for (index, block) in self.blocks.enumerated() { unsafe blocks[index] = block.wireMilliseconds }
        unsafe message.pointee.rounds = UInt32(clamping: self.rounds)
        unsafe message.pointee.attempts_per_round = UInt32(clamping: self.attemptsPerRound)
        unsafe message.pointee.block_ms = unsafe blocks
        unsafe message.pointee.n_block_ms = self.blocks.count
        return unsafe message
    }

    fileprivate init(copying message: Remotepin__V1__AttemptPolicy) throws(FieldFault) {
        let longest = AttemptPolicy.longestBlock.wireMilliseconds
        guard unsafe message.n_block_ms < AttemptPolicy.allowedRounds.upperBound else { throw .invalid(.policy) }
        var blocks: [Duration] = []
        for index in unsafe 0..<message.n_block_ms {
            blocks.append(try unsafe Duration(wireMilliseconds: message.block_ms[index], .policy, in: 0...longest))
        }
        guard
            let policy = unsafe AttemptPolicy(
                rounds: Int(message.rounds),
                attemptsPerRound: Int(message.attempts_per_round),
                blocks: blocks
            )
        else { throw .invalid(.policy) }
        self = policy
    }
}

extension ServerTerms.Limits {
    fileprivate func placed(in arena: borrowing Arena) -> UnsafeMutablePointer<Remotepin__V1__Limits> {
        let message = unsafe arena.place(remotepin__v1__limits__init)
        unsafe message.pointee.max_in_flight = UInt32(clamping: self.maxInFlight)
        unsafe message.pointee.session_lifetime_ms = self.sessionLifetime.wireMilliseconds
        unsafe message.pointee.token_lifetime_ms = self.tokenLifetime.wireMilliseconds
        return unsafe message
    }

    fileprivate init(copying message: Remotepin__V1__Limits) throws(FieldFault) {
        guard unsafe message.max_in_flight >= 1 else { throw .invalid(.maxInFlight) }
        self.init(
            maxInFlight: unsafe Int(message.max_in_flight),
            sessionLifetime: try unsafe Duration(
                wireMilliseconds: message.session_lifetime_ms,
                .sessionLifetime,
                in: 0...(.max)
            ),
            tokenLifetime: try unsafe Duration(
                wireMilliseconds: message.token_lifetime_ms,
                .tokenLifetime,
                in: 0...(.max)
            )
        )
    }
}
