internal import LogLines
internal import Logging
internal import Metrics
internal import Secrets
internal import Statements
internal import Synchronization
internal import Transport
internal import Vault
internal import Vocabulary
internal import WalletStore
internal import Wire

/// One connection from its first call to its last: takes each call in turn, has it done and answers it.
///
/// It holds no rule. What may be called when is ``ConnectionStateMachine``'s, what becomes of a failure is
/// `Refusal+CallFailure.swift`'s, each call has a file of its own.
struct Conversation {
    /// How often a call looks at a wallet that changes each time, before it gives up without a verdict.
    static let looksAtIdentity = 3

    let services: Services
    let connection: ServerConnection
    let live: LiveConnection
    let turn: Turn
    let channelBinding: ChannelBinding
    /// Where signatures are verified with those of other connections.
    let signatures: SignatureLine
    /// What the peer's source has had of all that is limited.
    let account: SourceAccount
    var source: PeerSource { self.account.source }
    /// When the present call came.
    var calledAt: Timestamp
    var machine = ConnectionStateMachine()
    /// What the wallet's instructions take turns in; nil before a session.
    var lane: InstructionLane?
    /// Nil before Hello.
    var app: ClaimedApp?
    var use = UsefulCalls()
    var log: CallLog
    /// Nothing more is answered.
    var isOver = false

    /// Serves until a session is open, or there will be none; ``run()`` goes on from there.
    ///
    /// In a task of its own, which is gone when this returns: a task keeps what its memory has grown to, the calls up to a
    /// session need most of it, and a session is mostly idle.
    func opened() async -> Conversation {
        async let conversation = self.openingSession()
        return await conversation
    }

    private func openingSession() async -> Conversation {
        var conversation = self
        conversation.log.debug("connected")
        while !conversation.isOver, !conversation.machine.isInSession { await conversation.serveOne() }
        return conversation
    }

    /// Serves until either side ends the connection; returns once it is closed.
    mutating func run() async {
        while !self.isOver { await self.serveOne() }
        self.log.begin(call: 0)
        self.connection.close()
        await self.connection.closed()
        self.services.registry.leave(self.live.id)
        self.log.debug("disconnected")
    }

    /// Takes one call and answers it.
    private mutating func serveOne() async {
        switch await self.connection.next() {
        case .request(let request):
            self.turn.begin()
            self.log.begin(call: request.id)
            let (result, endsConnection) = await self.answer(request.call)
            let isUse = self.use.counts(request.call, result)
            let response = Response(id: request.id, result: result)
            let isSent = await self.connection.send(response, isUse: isUse)
            self.isOver = endsConnection || !isSent
            guard !self.isOver else { return }
            self.turn.end()
            await self.rest(after: result)
        case .violation(let violation, let id):
            self.log.begin(call: id)
            let result = self.answer(violation)
            let isSent = await self.connection.send(Response(id: id, result: result))
            self.isOver = violation.endsConnection || !isSent
            if !self.isOver { await self.rest(after: result) }
        case .closed:
            self.isOver = true
            if self.services.isStopping.load(ordering: .sequentiallyConsistent) { await self.sayGoodbye() }
        }
    }

    /// The call's result, or why there is none, and whether the connection ends with it.
    private mutating func answer(_ call: Call) async -> (result: CallResult, endsConnection: Bool) {
        self.calledAt = self.services.clock.now()
        do throws(CallFailure) {
            try self.requireAllowance(for: call)
            let result = try await self.carryOut(call)
            self.services.pinOutcomes.note(result)
            self.services.meters.note(CallKind(call), .done)
            return (result, false)
        } catch {
            self.services.meters.note(CallKind(call), error)
            return (.refused(self.logged(error)), error.endsConnection)
        }
    }

    /// What is said to a frame that is no call, which costs its source as much as one.
    private mutating func answer(_ violation: Violation) -> CallResult {
        self.calledAt = self.services.clock.now()
        let limited = violation.endsConnection ? nil : self.takeCall()
        let failure = limited ?? .violation(violation)
        self.services.meters.note(.unknown, failure)
        return .refused(self.logged(failure))
    }

    private mutating func carryOut(_ call: Call) async throws(CallFailure) -> CallResult {
        switch call {
        case .hello(let hello): return try await self.hello(hello)
        case .beginEnrollment: return try await self.beginEnrollment()
        case .register(let register): return try await self.register(register)
        case .openSession(let openSession): return try await self.openSession(openSession)
        case .instruct(let instruct):
            self.turn.countInstruction()
            return try await self.instruct(instruct)
        case .revokeWithCode(let code): return try await self.revokeWithCode(code)
        case .reportWipe: return try await self.reportWipe()
        case .unknown: throw .unsupported
        }
    }

    /// Writes the line that an operator finds by the correlation id which the peer gets.
    func logged(_ failure: CallFailure) -> Refusal {
        if case .rateLimited(let limit, _) = failure, limit != .codes {
            self.services.limitMetrics.note(limit, of: self.source, log: self.log.ofCall)
        }
        self.tell(failure)
        return Refusal(failure.refusal, correlationID: "\(self.log.correlationID)")
    }

    private func tell(_ failure: CallFailure) {
        let level = failure.logLevel
        guard self.log.writes(level),
            let unwritten = self.services.refusalLines.take(level, of: self.account, at: self.calledAt)
        else { return }
        self.log.log(
            level: level,
            "refused",
            metadata: LineAllowance.metadata(["reason": "\(failure.logged)"], unwritten: unwritten)
        )
    }

    /// Lets the machine say whether a call is for the connection's state.
    mutating func inOrder<Result>(
        _ event: (inout ConnectionStateMachine) throws(OrderViolation) -> Result
    ) throws(CallFailure) -> Result {
        do throws(OrderViolation) {
            return try event(&self.machine)
        } catch {
            throw .order(error)
        }
    }
}

/// A store's failure as a call's.
func stored<Result>(_ step: () async throws(StoreError) -> Result) async throws(CallFailure) -> Result {
    do throws(StoreError) {
        return try await step()
    } catch {
        throw .store(error)
    }
}

/// A vault's failure as a call's.
func vaulted<Result>(_ step: () async throws(VaultError) -> Result) async throws(CallFailure) -> Result {
    do throws(VaultError) {
        return try await step()
    } catch {
        throw .vault(error)
    }
}
