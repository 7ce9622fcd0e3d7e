import Secrets
import Statements
import Synchronization
import Transport
import Vocabulary
import WalletFlows
import Wire

@testable import WalletCore

/// A server in memory that checks PINs by the protocol's rules, with connections that can be
/// interrupted.
///
/// It verifies PIN signatures and compares keys like the real server, and accepts any device proof.
final class FakeServer: ServerDialer {
    struct Record {
        var pinKey: P256PublicKey
        var pinKeyID: PINKeyID
        var unlockShare: Share
        var presenceShare = Share.random()
        var nextUnlockShare: Share?
        var nextPresenceShare: Share?
        var deletionCode: DeletionCode
        var hadSession = false
        var wrongAttempts = 0
        var isBlockedPermanently = false
        var recoveryCode: RecoveryCode?
        var lastWrong: AttemptID?
        var revocation: Revocation?
        /// The number of judged attempts.
        var number: UInt64 = 0
        /// The number of times that the identity was sealed, which a change of the PIN must name.
        var seal = 0
    }

    struct State {
        var records: [WalletID: Record] = [:]
        var tokens: [[UInt8]: WalletID] = [:]
        var verdict = UpdateVerdict.ok
        /// The keys of receipts, the last one signing; empty for a server without receipts.
        var receiptKeys: [ReceiptSigningKey] = []
        var epoch: UInt64 = 1
        /// The flag for the safe mode, for all wallets.
        var wantsSafeMode = false
        var reachable = true
        /// Replaces answers, as an attacker would.
        var forge: (@Sendable (CallResult) -> CallResult)?
        /// ChangePIN messages that were delayed and may still arrive.
        var late: [Late] = []
        var keepsLate = false
        /// The names of calls whose next answer is lost with its connection.
        var losesNext: Set<String> = []
        /// True if the server becomes unreachable at the next such loss.
        var leavesAtLoss = false
        /// Receives the records at each such loss.
        var onLoss: (@Sendable ([WalletID: Record]) -> Void)?
        /// The number of times that all open sessions were ended.
        var sessionEnds = 0
        /// The names of calls before which all sessions are ended once.
        var endsSessionsBefore: Set<String> = []
        /// The number of times that all connections were dropped.
        var connectionEnds = 0
        var calls: [String] = []
    }

    struct Late {
        var request: Instruct
        var walletID: WalletID
        var binding: ChannelBinding
        var seal: Int
    }

    private let state = Mutex(State())
    let crashPoint: CrashPoint

    init(crashPoint: CrashPoint) {
        self.crashPoint = crashPoint
    }

    /// Reads or changes the server's state.
    func withState<Result: Sendable>(_ body: @Sendable (inout State) -> Result) -> Result {
        self.state.withLock { body(&$0) }
    }

    var address: String { "pin.example:7443" }

    func dial() async throws(DialError) -> any CallChannel {
        guard !self.crashPoint.isOff, self.state.withLock(\.reachable) else {
            throw .unreachable(.connectionRefused)
        }
        return FakeChannel(server: self)
    }

    /// The only wallet that is registered and not revoked.
    var onlyRecord: Record? {
        self.state.withLock { state in state.records.values.first { $0.revocation == nil } }
    }

    func revokeAll(_ reason: Revocation.Reason) {
        self.state.withLock { state in
            for id in state.records.keys {
                state.records[id]?.revocation = Revocation(reason: reason, mayRegisterAnew: true)
            }
        }
    }

    /// Gives all wallets next shares, which replace those of an earlier refresh.
    func refreshShares() {
        self.withState { state in
            for id in state.records.keys {
                state.records[id]?.nextUnlockShare = .random()
                state.records[id]?.nextPresenceShare = .random()
            }
        }
    }

    /// Ends all open sessions; their connections stay open.
    func endSessions() { self.withState { $0.sessionEnds += 1 } }

    /// Drops all connections, like idle ones.
    func endConnections() { self.withState { $0.connectionEnds += 1 } }

    /// Delivers the delayed messages.
    func deliverLate() {
        let late = self.state.withLock { state in
            defer { state.late = [] }
            return state.late
        }
        for message in late {
            _ = self.instruct(message.request, of: message.walletID, message.seal, on: message.binding)
        }
    }
}

/// One connection to a ``FakeServer``.
final class FakeChannel: CallChannel {
    let channelBinding: ChannelBinding
    private let server: FakeServer
    private let session = Mutex<Session?>(nil)
    /// The value of `connectionEnds` when this connection was opened.
    private let earlierEnds: Int

    private struct Session {
        let walletID: WalletID
        /// The value of `sessionEnds` when this session was opened.
        let earlierEnds: Int
        var counter: UInt64 = 1
        var hadValidPIN = false
        /// The seal of the identity that this session knows.
        var seal: Int
    }

    init(server: FakeServer) {
        self.server = server
        self.earlierEnds = server.withState(\.connectionEnds)
        guard let binding = ChannelBinding(SecretBytes.random(count: 32).exposedBytes()) else {
            preconditionFailure("32 bytes are a channel binding")
        }
        self.channelBinding = binding
    }

    func close() async {}

    func call(_ call: Call) async throws(CallError) -> CallResult {
        guard self.server.withState(\.connectionEnds) == self.earlierEnds else { throw .closed }
        // Two places: sending the request, and sending the answer.
        guard self.server.withState(\.reachable), let sent = self.server.crashPoint.pass("send \(call.name)") else {
            self.holdBack(call)
            throw .closed
        }
        if sent.isLast {
            self.holdBack(call)
            throw .closed
        }
        let result = self.answer(call)
        guard let answered = self.server.crashPoint.pass("answer \(call.name)"), !answered.isLast else { throw .closed }
        let isLost = self.server.withState { state in
            guard state.losesNext.remove(call.name) != nil else { return false }
            state.onLoss?(state.records)
            if state.leavesAtLoss { state.reachable = false }
            return true
        }
        guard !isLost else { throw .closed }
        guard let forge = self.server.withState(\.forge) else { return result }
        let forged = forge(result)
        // A refusal opens nothing.
        if case .openSession = call, case .refused = forged { self.session.withLock { $0 = nil } }
        return forged
    }

    private func holdBack(_ call: Call) {
        guard case .instruct(let request) = call, let session = self.session.withLock({ $0 }) else { return }
        self.server.withState { state in
            guard state.keepsLate else { return }
            state.late.append(
                FakeServer.Late(
                    request: request,
                    walletID: session.walletID,
                    binding: self.channelBinding,
                    seal: session.seal
                )
            )
        }
    }

    private func isOpen(_ session: Session) -> Bool {
        self.server.withState(\.sessionEnds) == session.earlierEnds
    }

    private func answer(_ call: Call) -> CallResult {
        self.server.withState { state in
            state.calls.append(call.name)
            if state.endsSessionsBefore.remove(call.name) != nil { state.sessionEnds += 1 }
        }
        switch call {
        case .hello: return .hello(self.server.terms())
        case .beginEnrollment: return .beginEnrollment(self.server.begin())
        case .register(let request): return self.server.register(request, on: self.channelBinding)
        case .openSession(let request):
            guard self.session.withLock({ $0 == nil }) else { return .refused(Refusal(.notAllowed)) }
            let result = self.server.open(request)
            if case .openSession(.active) = result {
                let ends = self.server.withState(\.sessionEnds)
                let seal = self.server.seal(of: request.walletID)
                let session = Session(walletID: request.walletID, earlierEnds: ends, seal: seal)
                self.session.withLock { $0 = session }
            }
            return result
        case .instruct(let request):
            let session = self.session.withLock { session in
                defer { session?.counter += 1 }
                return session
            }
            guard let session, self.isOpen(session) else { return .refused(Refusal(.sessionRequired)) }
            guard session.counter == request.counter else { return .refused(Refusal(.outOfOrder)) }
            let result = self.server.instruct(request, of: session.walletID, session.seal, on: self.channelBinding)
            let seal = self.server.seal(of: session.walletID)
            let isJudged = if case .refused = result { false } else { true }
            self.session.withLock { session in
                if case .instruct(.pinValid) = result.withoutReceipt { session?.hadValidPIN = true }
                if isJudged { session?.seal = seal }
            }
            return result
        case .confirmShares(let confirmation):
            guard let session = self.session.withLock({ $0 }), self.isOpen(session), session.hadValidPIN else {
                return .refused(Refusal(.notAllowed))
            }
            let result = self.server.confirm(confirmation, of: session.walletID, session.seal)
            let seal = self.server.seal(of: session.walletID)
            if case .confirmShares = result { self.session.withLock { $0?.seal = seal } }
            return result
        case .reportWipe:
            guard let session = self.session.withLock({ $0 }), self.isOpen(session) else {
                return .refused(Refusal(.sessionRequired))
            }
            self.server.withState { state in
                state.records[session.walletID]?.revocation = Revocation(reason: .user, mayRegisterAnew: true)
            }
            return .reportWipe
        case .revokeWithCode, .unknown: return .refused(Refusal(.unsupported))
        }
    }
}

extension Call {
    var name: String {
        switch self {
        case .hello: "hello"
        case .beginEnrollment: "begin enrollment"
        case .register: "register"
        case .openSession: "open session"
        case .instruct: "instruct"
        case .revokeWithCode: "revoke"
        case .reportWipe: "report wipe"
        case .confirmShares: "confirm shares"
        case .unknown: "unknown"
        }
    }
}
