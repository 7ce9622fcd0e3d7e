internal import HostSystem
internal import Logging
internal import Telemetry
internal import Metrics
internal import Secrets
internal import Synchronization
internal import Transport
internal import Vault
internal import Vocabulary
internal import WalletStore
internal import Wire

/// Handles one connection from the first call to the last: reads each call, executes it, and sends the answer.
///
/// This type contains no rules. ``ConnectionStateMachine`` decides when a call is allowed, `CallFailure.swift`
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

    /// Serves the connection until either side ends it; returns once the connection is closed.
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

extension Conversation {
    /// Rejects a call that would judge or release something while this server has no lease.
    ///
    /// Invariant (G3, G7): without a lease, the time of blocks, the epoch or the durability of commits may be in doubt,
    /// and no answer could be sent. Nothing is counted, and the client is asked to try again.
    func requireLease() throws(CallFailure) {
        guard self.server.lease?.isHeld ?? true else { throw .noLease }  // rule: lease-judges-without
    }

    /// Returns whether an answer may be sent at this moment.
    ///
    /// Invariant (G7): with several servers on one store, an answer with a share or a verdict is sent only while this
    /// server has its lease. Other servers wait for its acknowledgment of a revocation only until the lease has ended.
    /// This is the last step before the bytes are handed to TLS, because the store, the vault or a suspension of the
    /// machine may have taken any amount of time before it. Without a lease, the connection ends without an answer, as
    /// after a crash, and the client repeats its call.
    func mayBeSent(_ result: CallResult) -> Bool {
        // rule: lease-not-checked
        guard result.tellsOfWallet, let lease = self.server.lease, !lease.isHeld else { return true }
        self.log.log(level: .warning, "an answer was withheld: this server has no lease at present")
        return false
    }
}

extension Call {
    /// Whether an answer to the call may contain data that a revocation takes away.
    var mayRelease: Bool {
        switch self {
        case .register, .openSession, .instruct: true
        case .hello, .beginEnrollment, .confirmShares, .revokeWithCode, .reportWipe, .unknown: false
        }
    }
}

extension CallResult {
    /// Whether the answer contains a share, a deletion code, or a verdict on a PIN, such as the state of the attempts.
    var tellsOfWallet: Bool {
        switch self {
        case .register, .openSession(.active), .instruct, .judged: true
        case .openSession(.revoked), .hello, .beginEnrollment, .revokeWithCode, .reportWipe, .confirmShares, .refused:
            false
        }
    }
}

// Per-source limits are applied before any part of a call is examined. If a call is rejected, no PIN is judged, no
// attempt is counted, and the answer reveals nothing about a wallet.
extension Conversation {
    /// Charges a call to its source.
    ///
    /// Deletion codes have their own allowance and need no other. An attacker who uses up the other allowances of a
    /// mobile operator's address therefore cannot prevent the users behind that address from ending the wallet on a
    /// lost phone (G8).
    mutating func requireAllowance(for call: Call) throws {
        if case .revokeWithCode = call { return }  // rule: server-codes-share-allowance
        if let limited = self.takeCall() {
            // A rate-limited instruction also uses up the expected counter. Otherwise, the client's next instruction
            // would be out of order. An instruction that is not allowed now gets the same refusal as every other call:
            // a refusal for its order would be followed by no pause.
            if case .instruct(let instruct) = call {
                _ = try? self.machine.receiveInstruct(counter: instruct.counter, at: self.calledAt)
            }
            throw limited
        }
        switch call {
        case .beginEnrollment, .register:
            let limited = self.server.limits.take(.enrollments, of: self.account, at: self.calledAt)
            if let limited { throw limited }
        case .hello, .openSession, .instruct, .revokeWithCode, .reportWipe, .confirmShares, .unknown: break
        }
    }

    /// Takes one call from the source's allowance.
    ///
    /// Returns the failure if none is left. Sessions have a separate allowance, so that clients without a wallet cannot
    /// use up the allowance of clients that have proved theirs, even if all of them share a mobile operator's address.
    func takeCall() -> CallFailure? {
        let isInSession = self.machine.isInSession
        return self.server.limits.take(isInSession ? .sessionCalls : .calls, of: self.account, at: self.calledAt)
    }

    /// Stops reading from a connection for a while after a rate-limited call.
    ///
    /// The refusal has asked the client to wait. Without the pause, each call in a flood over a few connections would
    /// cost the server the decoding of a frame and an answer.
    func pauseReading(after result: CallResult) async {
        guard case .refused(let refusal) = result, case .rateLimited(let wait) = refusal.reason else { return }
        let pause = min(wait, self.server.limits.rules.pause)
        // The sleep is cancelled when the server stops. The connection then ends with the next read.
        if pause > .zero { try? await self.server.time.sleep(for: pause) }
    }
}

// An unsealed value is used for a single answer and never kept. A session keeps the keys of its wallet, which are wiped
// at a revocation.
extension Conversation {
    /// Unseals the outer layer of a wallet's identity.
    func identity(_ sealed: Sealed, of walletID: WalletID) throws(VaultError) -> OpenedIdentity {
        let layers = try self.server.vault.openIdentity(sealed, of: walletID)
        guard let record = IdentityRecord(layers.facts) else { throw .notOurs }
        return OpenedIdentity(record: record, pinKey: nil, sealedPINKey: layers.pinKey, sealed: sealed)
    }

    /// Unseals the inner layer, the PIN key, unless the session has no keys.
    func identity(_ outer: OpenedIdentity, with keys: WalletKeys) throws(VaultError) -> OpenedIdentity {
        guard !keys.areWiped else { return outer }
        let bytes = try self.server.vault.open(outer.sealedPINKey, as: .pin, with: keys).exposedBytes()
        guard let pinKey = P256PublicKey(bytes) else { throw .notOurs }
        return OpenedIdentity(
            record: outer.record,
            pinKey: pinKey,
            sealedPINKey: outer.sealedPINKey,
            sealed: outer.sealed
        )
    }

    /// Seals an identity with a new PIN key in both layers.
    func seal(
        _ record: IdentityRecord,
        _ pinKey: P256PublicKey,
        with keys: WalletKeys
    ) throws(VaultError) -> OpenedIdentity {
        try self.seal(record, pinKey, as: try keys.seal(SecretBytes(copying: pinKey.bytes), as: .pin), of: keys.wallet)
    }

    /// Seals the outer layer of an identity.
    func seal(
        _ record: IdentityRecord,
        _ pinKey: P256PublicKey?,
        as sealedPINKey: Sealed,
        of walletID: WalletID
    ) throws(VaultError) -> OpenedIdentity {
        let layers = LayeredIdentity(pinKey: sealedPINKey, facts: record.bytes)
        let sealed = try self.server.vault.sealIdentity(layers, of: walletID)
        return OpenedIdentity(record: record, pinKey: pinKey, sealedPINKey: sealedPINKey, sealed: sealed)
    }

    /// Unseals a share that is about to be sent.
    func share(_ sealed: Sealed, as field: VaultField, with keys: WalletKeys) throws(VaultError) -> Share {
        guard let share = Share(try self.server.vault.open(sealed, as: field, with: keys)) else { throw .notOurs }
        return share
    }

    /// Unseals the share that will replace the current one.
    ///
    /// Returns nil if it cannot be unsealed. The user only needs the current share, so a damaged next share must not
    /// make the call fail. The wallet keeps its current share until another replacement is started. The vault counts
    /// the failure.
    ///
    /// If the shares are replaced after a rotation that began after this session, the session lacks the key. The share
    /// is then withheld until the wallet's next session. A right PIN still takes the steps of a wrong one.
    func nextShare(_ sealed: Sealed?, as field: VaultField, with keys: WalletKeys) -> Share? {
        guard let sealed else { return nil }
        do throws(VaultError) {
            return try self.share(sealed, as: field, with: keys)
        } catch .wiped {
            return nil
        } catch .noKey {
            self.server.devices.decoy.openShare()
            self.log.debug("a next share waits for the wallet's next session")
            return nil
        } catch {
            self.log.log(
                level: .error,
                "a next share does not open and is not offered; 'admin vault refresh-shares' makes another one",
                metadata: [
                    "wallet": "\(keys.wallet)", "field": "\(field.rawValue)", "reason": "\(CallFailure(error).logged)",
                ]
            )
            return nil
        }
    }

    /// Unseals a deletion code that is about to be sent.
    func deletionCode(_ sealed: Sealed, with keys: WalletKeys) throws(VaultError) -> DeletionCode {
        let bytes = try self.server.vault.open(sealed, as: .deletionCode, with: keys)
        guard let code = DeletionCode(String(decoding: bytes.exposedBytes(), as: UTF8.self)) else { throw .notOurs }
        return code
    }
}

extension Conversation {
    /// The time that clients should wait before reconnecting when a server shuts down.
    ///
    /// Another server may accept them right away.
    private static let reconnectDelay: Duration = .seconds(2)

    /// Notifies the client that the server is shutting down.
    ///
    /// This is the last frame on the connection: `unavailable` with id 0 and a delay. Every call that was answered is
    /// complete, and no other call has been started, so nothing is judged after this frame.
    mutating func announceShutdown() async {
        self.log.begin(call: 0)
        self.log.debug("shutdown announced")
        let reason = Refusal.Reason.unavailable(retryAfter: Self.reconnectDelay)
        let refusal = Refusal(reason, correlationID: "\(self.log.correlationID)")
        await self.connection.send(Response(id: 0, result: .refused(refusal)))
    }
}

/// A conversation on the heap, which two tasks serve one after the other.
///
/// A running task does not release the memory it has grown to. The calls before a session need most of that memory,
/// whereas a session is mostly idle. So a separate task serves them, and the state is not part of either task's memory.
///
/// `@unchecked Sendable` because the first task ends before the second one continues.
final class ServedConversation: @unchecked Sendable {
    private var conversation: Conversation

    init(_ conversation: Conversation) {
        self.conversation = conversation
    }

    /// Serves the connection in a separate task until a session is opened or the connection ends.
    func open() async {
        await withDiscardingTaskGroup { $0.addTask { await self.conversation.open() } }
    }

    /// Serves the connection until either side ends it.
    func run() async { await self.conversation.run() }
}

/// Decides which answers restart a connection's idle timeout.
///
/// Connections are a limited resource. A client can only keep its connection open with calls that have an effect.
/// Refused calls and unknown deletion codes do not count, and neither do repeated BeginEnrollment calls, which require
/// no credentials.
struct IdleTimeoutPolicy {
    private var hasBegunEnrollment = false

    /// Returns whether the answer to this call restarts the idle timeout.
    mutating func isReset(by call: Call, _ result: CallResult) -> Bool {
        switch result {
        case .refused, .revokeWithCode(.notRecognised):
            return false
        case .beginEnrollment:
            defer { self.hasBegunEnrollment = true }
            return !self.hasBegunEnrollment
        case .register:
            self.hasBegunEnrollment = false
            return true
        case .hello, .openSession, .instruct, .judged, .revokeWithCode, .reportWipe, .confirmShares:
            return true
        }
    }
}
