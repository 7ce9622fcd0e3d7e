import Secrets
import Statements
import Synchronization
import Vocabulary
import WalletFlows
import Wire

@testable import WalletCore

/// A server in memory that judges PINs by the protocol's rules, over lines that may be cut.
///
/// It verifies PIN signatures and compares keys as the real one does; device proofs it takes as they come.
final class FakeServer: ServerDialer {
    struct Record {
        var pinKey: P256PublicKey
        var pinKeyID: PINKeyID
        var unlockShare: Share
        let presenceShare = Share.random()
        var deletionCode: DeletionCode
        var hadSession = false
        var wrongAttempts = 0
        var isBlockedForGood = false
        var recoveryCode: [UInt8]?
        var lastWrong: AttemptID?
        var revocation: Revocation?
    }

    struct State {
        var records: [WalletID: Record] = [:]
        var tokens: [[UInt8]: WalletID] = [:]
        var verdict = UpdateVerdict.ok
        /// The roll-out flag, for every wallet.
        var wantsSafeMode = false
        var reachable = true
        /// Changes an answer on its way: a server that lies.
        var forge: (@Sendable (CallResult) -> CallResult)?
        /// ChangePin messages that were lost on their way and may still arrive.
        var late: [Late] = []
        var keepsLate = false
        /// Calls, by name, whose next answer is lost with its connection.
        var losesNext: Set<String> = []
        /// Whether the server is out of reach from the next such loss on.
        var leavesAtLoss = false
        /// Sees the wallets as they are when an answer is lost so.
        var onLoss: (@Sendable ([WalletID: Record]) -> Void)?
        /// How often every session that was open has ended.
        var sessionEnds = 0
        /// Calls, by name, right before which all sessions end, once.
        var endsSessionsBefore: Set<String> = []
        /// How often every connection that was there has ended without a word.
        var lineEnds = 0
        var calls: [String] = []
    }

    struct Late {
        var request: Instruct
        var walletID: WalletID
        var binding: ChannelBinding
    }

    private let state = Mutex(State())
    let crashPoint: CrashPoint

    init(crashPoint: CrashPoint) {
        self.crashPoint = crashPoint
    }

    /// Looks at the server's state, or changes it.
    func withState<Result: Sendable>(_ body: @Sendable (inout State) -> Result) -> Result {
        self.state.withLock { body(&$0) }
    }

    var address: String { "pin.example:7443" }

    func dial() async throws(DialError) -> any CallChannel {
        guard !self.crashPoint.isOff, self.state.withLock(\.reachable) else { throw .unreachable }
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

    /// Ends the time of every session that is open; the connections live on.
    func endSessions() { self.withState { $0.sessionEnds += 1 } }

    /// Ends every connection that is there, as one that was idle may.
    func endLines() { self.withState { $0.lineEnds += 1 } }

    /// Delivers what was held back, as a network may.
    func deliverLate() {
        let late = self.state.withLock { state in
            defer { state.late = [] }
            return state.late
        }
        for message in late { _ = self.instruct(message.request, of: message.walletID, on: message.binding) }
    }
}

/// One connection to a ``FakeServer``.
final class FakeChannel: CallChannel {
    let channelBinding: ChannelBinding
    private let server: FakeServer
    private let session = Mutex<Session?>(nil)
    /// How many ends of all connections were before this one.
    private let earlierEnds: Int

    private struct Session {
        let walletID: WalletID
        /// How many ends of all sessions were before this one.
        let earlierEnds: Int
        var counter: UInt64 = 1
    }

    init(server: FakeServer) {
        self.server = server
        self.earlierEnds = server.withState(\.lineEnds)
        guard let binding = ChannelBinding(SecretBytes.random(count: 32).exposedBytes()) else {
            preconditionFailure("32 bytes are a channel binding")
        }
        self.channelBinding = binding
    }

    func close() async {}

    func call(_ call: Call) async throws(CallChannelError) -> CallResult {
        guard self.server.withState(\.lineEnds) == self.earlierEnds else { throw .lost }
        // Two places: the request's way there, and the answer's way back.
        guard self.server.withState(\.reachable), let sent = self.server.crashPoint.pass("send \(call.name)") else {
            self.holdBack(call)
            throw .lost
        }
        if sent.isLast {
            self.holdBack(call)
            throw .lost
        }
        let result = self.answer(call)
        guard let answered = self.server.crashPoint.pass("answer \(call.name)"), !answered.isLast else { throw .lost }
        let isLost = self.server.withState { state in
            guard state.losesNext.remove(call.name) != nil else { return false }
            state.onLoss?(state.records)
            if state.leavesAtLoss { state.reachable = false }
            return true
        }
        guard !isLost else { throw .lost }
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
                FakeServer.Late(request: request, walletID: session.walletID, binding: self.channelBinding)
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
                let session = Session(walletID: request.walletID, earlierEnds: self.server.withState(\.sessionEnds))
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
            return self.server.instruct(request, of: session.walletID, on: self.channelBinding)
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
        case .unknown: "unknown"
        }
    }
}
