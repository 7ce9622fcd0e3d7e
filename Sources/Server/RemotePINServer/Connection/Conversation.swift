internal import HostSystem
internal import LogLines
internal import Logging
internal import Metrics
internal import Synchronization
internal import Transport
internal import Vocabulary
internal import Wire

/// Handles one connection from the first call to the last: reads each call, executes it, and sends the answer.
///
/// This type contains no rules. ``ConnectionStateMachine`` decides when a call is allowed, `CallFailure+Refusal.swift`
/// maps failures to refusals, and each call is implemented in its own file.
struct Conversation {
    /// The number of times a call reads a changing identity before it gives up without a verdict.
    static let identityAttempts = 3
    /// Rejected device proofs are answered at multiples of this interval after the call's arrival.
    ///
    /// It is longer than a check takes on an idle server. See `OpenSession.swift`.
    static let rejectionInterval = Duration.milliseconds(2)

    let server: ServerState
    let connection: ServerConnection
    let handle: ConnectionHandle
    let activity: CallActivity
    let channelBinding: ChannelBinding
    /// The account of the peer's source, which limits are applied to.
    let account: SourceAccount
    var source: PeerSource { self.account.source }
    /// The time at which the current call arrived.
    var calledAt: Timestamp
    var machine = ConnectionStateMachine()
    /// A lock that serializes the wallet's instructions across all of its connections, or nil if no session has been
    /// opened.
    ///
    /// A phone never has two instructions in flight. If an attacker sends many of them for one wallet at once, to
    /// outrun a block or to overload the server, they occupy at most one processor, and each commit contains at most
    /// one operation for that wallet.
    var instructionLock: AsyncLock?
    /// The app according to Hello, or nil before Hello.
    var app: ClaimedApp?
    var idleTimeout = IdleTimeoutPolicy()
    var log: CallLog
    /// Whether the conversation is over, in which case no more answers are sent.
    var isOver = false

    /// Serves the connection until a session is opened or the connection ends.
    ///
    /// ``run()`` continues from there.
    mutating func open() async {
        self.log.debug("connected")
        while !self.isOver, !self.machine.isInSession { await self.serve(await self.connection.received()) }
    }

    /// Serves the connection until either side ends it.
    ///
    /// Returns once the connection is closed.
    mutating func run() async {
        while !self.isOver { await self.serve(await self.connection.received()) }
        self.log.begin(call: 0)
        self.connection.close()
        await self.connection.closed()
        self.server.registry.leave(self.handle.id)
        self.log.debug("disconnected")
    }

    /// Answers one call.
    ///
    /// Does not wait for the call itself, because a waiting task would hold the memory for all variables of this
    /// function.
    private mutating func serve(_ received: ServerConnection.Received) async {
        switch self.connection.decode(received) {
        case .request(let request):
            self.activity.begin(mayRelease: request.call.mayRelease)
            self.log.begin(call: request.id)
            let (result, endsConnection) = await self.answer(request.call)
            guard let result else {
                self.isOver = true
                return
            }
            let isUse = self.idleTimeout.isReset(by: request.call, result)
            let response = Response(id: request.id, result: result)
            guard self.mayBeSent(result) else {
                self.isOver = true
                self.connection.abort()
                return
            }
            let isSent = await self.connection.send(response, isUse: isUse)
            self.isOver = endsConnection || !isSent
            guard !self.isOver else { return }
            self.activity.end()
            await self.pauseReading(after: result)
        case .violation(let violation, let id):
            self.log.begin(call: id)
            let result = self.answer(violation)
            let isSent = await self.connection.send(Response(id: id, result: result))
            self.isOver = violation.endsConnection || !isSent
            if !self.isOver { await self.pauseReading(after: result) }
        case .closed:
            self.isOver = true
            if self.server.isStopping.load(ordering: .sequentiallyConsistent) { await self.announceShutdown() }
        }
    }

    /// Returns the result or refusal of the call, or nil for no answer, and whether the connection ends afterwards.
    private mutating func answer(_ call: Call) async -> (result: CallResult?, endsConnection: Bool) {
        self.calledAt = self.server.clock.now()
        do {
            try self.requireAllowance(for: call)
            let result = try await self.carryOut(call)
            self.server.statistics.pinOutcomes.note(result)
            self.server.statistics.calls.note(call.kind)
            return (result, false)
        } catch {
            let failure = CallFailure(error)
            self.server.statistics.calls.note(call.kind, failure)
            let refusal = self.refuse(failure)
            return (failure.isAnswered ? .refused(refusal) : nil, failure.endsConnection)
        }
    }

    /// Returns the refusal for a frame that is not a valid call.
    ///
    /// It counts as a call against the source's limits.
    private mutating func answer(_ violation: Violation) -> CallResult {
        self.calledAt = self.server.clock.now()
        let limited = violation.endsConnection ? nil : self.takeCall()
        let failure = limited ?? .violation(violation)
        self.server.statistics.calls.note(nil, failure)
        return .refused(self.refuse(failure))
    }

    private mutating func carryOut(_ call: Call) async throws -> CallResult {
        switch call {
        case .hello(let hello): return try await self.hello(hello)
        case .beginEnrollment: return try await self.beginEnrollment()
        case .register(let register): return try await self.register(register)
        case .openSession(let openSession): return try await self.openSession(openSession)
        case .instruct(let instruct):
            self.activity.countInstruction()
            return try await self.instruct(instruct)
        case .revokeWithCode(let code): return try await self.revokeWithCode(code)
        case .reportWipe: return try await self.reportWipe()
        case .confirmShares(let confirmation): return try await self.confirmShares(confirmation)
        case .unknown: throw CallFailure.unsupported
        }
    }

    /// Logs a failure and returns the refusal for the peer, both with the same correlation id.
    private func refuse(_ failure: CallFailure) -> Refusal {
        if case .rateLimited(let limit, _) = failure, limit != .codes {
            self.server.limits.metrics.note(limit, of: self.source, log: self.log.ofCall)
        }
        self.write(failure)
        return Refusal(failure.refusal, correlationID: "\(self.log.correlationID)")
    }

    private func write(_ failure: CallFailure) {
        let level = failure.logLevel
        guard self.log.writes(level),
            let suppressed = self.server.limits.refusalLog.allow(level, of: self.account, at: self.calledAt)
        else { return }
        var metadata: Logger.Metadata = ["reason": "\(failure.logged)"]
        if failure.logLevel == .error, let wallet = self.log.namedWallet { metadata["wallet"] = "\(wallet)" }
        self.log.log(
            level: level,
            "refused",
            metadata: LogRateLimiter.metadata(metadata, suppressed: suppressed)
        )
    }
}
