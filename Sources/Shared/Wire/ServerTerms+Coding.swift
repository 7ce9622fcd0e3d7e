internal import RemotePINProto
internal import Vocabulary

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
        case .ok:
            message.set(\.kind, REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_OK)
        case .notify:
            message.set(\.kind, REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_NOTIFY)
        case .recommend:
            message.set(\.kind, REMOTEPIN__V1__UPDATE_VERDICT__KIND__KIND_RECOMMEND)
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
