internal import HistoryChecker
internal import LoadFleet
internal import Synchronization
internal import Vocabulary

/// A wallet in use, with the history that every response is checked against.
///
/// Only one user uses it at a time, unless all users share a single wallet in order to attack it.
final class CheckedWallet: Sendable {
    private struct State {
        var history: WalletHistory
        /// The wallet's last events.
        ///
        /// Recorded only for a proof.
        var transcript: WalletTranscript?
        var lastID = 0
        /// The id of the last operation with a PIN.
        var lastPINID = 0
        /// The number of wrong PINs since the last right one known to this run, including those without a response.
        var wrongInRow = 0
        var users = 0
    }

    let wallet: FleetWallet
    private let attemptsPerRound: Int
    private let state: Mutex<State>

    init(_ wallet: FleetWallet, _ history: WalletHistory, attemptsPerRound: Int, keepsTranscript: Bool = false) {
        self.wallet = wallet
        self.attemptsPerRound = attemptsPerRound
        self.state = Mutex(State(history: history, transcript: keepsTranscript ? WalletTranscript() : nil))
    }

    /// Records an operation before it is sent.
    ///
    /// Returns its id.
    ///
    /// - Parameter first: The id of the first operation with the same attempt id.
    func invokes(_ operation: WalletOperation, repeating first: Int? = nil, at now: Timestamp) -> Int {
        self.state.withLock { state in
            state.lastID += 1
            if operation != .opening { state.lastPINID = state.lastID }
            state.history.invoke(state.lastID, operation, repeating: first, at: now)
            state.transcript?.sent(state.lastID, operation, repeating: first, at: now)
            return state.lastID
        }
    }

    /// Records a response.
    ///
    /// Returns a violation if a correct server could not have sent it.
    func completes(_ id: Int, _ response: WalletResponse, at now: Timestamp) -> HistoryViolation? {
        self.state.withLock { state in
            switch response {
            case .verdict(.valid, _), .validWithForeignShare: state.wrongInRow = 0
            case .verdict(.wrong, _): state.wrongInRow += 1
            case .opened(.open(let left, _), _):
                state.wrongInRow = max(state.wrongInRow, self.attemptsPerRound - left)
            case .verdict, .opened, .pinKeyChanged, .refused, .revoked: break
            }
            state.transcript?.answered(id, response, at: now)
            return state.history.complete(id, response, at: now)
        }
    }

    /// Records that no response will arrive.
    ///
    /// Returns a violation if a correct server could not have sent the other responses.
    func loses(_ id: Int, isWrong: Bool, at now: Timestamp) -> HistoryViolation? {
        self.state.withLock { state in
            if isWrong { state.wrongInRow += 1 }
            state.transcript?.lost(id, at: now)
            return state.history.lose(id, at: now)
        }
    }

    /// Records that an operator's revocation of the wallet has returned.
    func revocationReturned(at now: Timestamp) {
        self.state.withLock { state in
            state.transcript?.revoked(at: now)
            state.history.revocationReturned()
        }
    }

    /// The last events, for reporting a violation.
    var transcript: WalletTranscript? { self.state.withLock(\.transcript) }

    /// Records that the server's process ended before this moment.
    func serverEnded(by now: Timestamp) {
        self.state.withLock { $0.history.serverEnded(by: now) }
    }

    /// Returns whether this was the last operation with a PIN.
    func isLastPIN(_ id: Int) -> Bool { self.state.withLock { $0.lastPINID == id } }

    /// Returns whether one more wrong PIN would still be within the plan's limit.
    func allowsWrong(atMost limit: Int) -> Bool { self.state.withLock { $0.wrongInRow < limit } }

    /// Whether wrong PINs may have been counted since the last right one.
    var hasCounts: Bool { self.state.withLock { $0.wrongInRow > 0 } }

    var overflowCount: Int { self.state.withLock { $0.history.overflowCount } }
    var epochStepCount: Int { self.state.withLock { $0.history.epochStepCount } }

    // MARK: Users

    var hasUsers: Bool { self.state.withLock { $0.users > 0 } }

    func enter() { self.state.withLock { $0.users += 1 } }

    /// Returns whether no users are left and no pending operation can still be judged.
    ///
    /// The summary is then exact.
    func leave() -> Bool {
        self.state.withLock { state in
            state.users -= 1
            return state.users == 0 && state.history.isQuiet
        }
    }

    func summary(at now: Timestamp, generation: UInt32) -> HistorySummary {
        self.state.withLock { $0.history.summary(at: now, generation: Int(generation)) }
    }
}
