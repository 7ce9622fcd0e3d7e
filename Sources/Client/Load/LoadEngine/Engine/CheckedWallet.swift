internal import LoadFleet
internal import Synchronization
internal import HistoryChecker
internal import Vocabulary

/// A wallet in use, with what is known of it: every answer that it gets is judged here.
///
/// One user has it at a time, except for a single wallet under attack, which all have.
final class CheckedWallet: Sendable {
    private struct State {
        var history: WalletHistory
        var lastID = 0
        /// Of what was sent with a PIN.
        var lastEntryID = 0
        /// Wrong PINs since the last right one, lost ones included, as far as this run knows.
        var wrongInRow = 0
        var users = 0
    }

    let wallet: FleetWallet
    private let state: Mutex<State>

    init(_ wallet: FleetWallet, _ history: WalletHistory) {
        self.wallet = wallet
        self.state = Mutex(State(history: history))
    }

    /// Notes what is about to be sent; the number is the answer's.
    ///
    /// - Parameter first: the number of the first message with the same attempt id.
    func sends(_ message: WalletOperation, repeating first: Int? = nil, at now: Timestamp) -> Int {
        self.state.withLock { state in
            state.lastID += 1
            if message != .opening { state.lastEntryID = state.lastID }
            state.history.invoke(state.lastID, message, repeating: first, at: now)
            return state.lastID
        }
    }

    /// What a session's opening said.
    func opens(_ opening: PINState, generation: UInt32, as id: Int, attempts: Int, at now: Timestamp)
        -> HistoryViolation?
    {
        self.state.withLock { state in
            if case .open(let left, _) = opening { state.wrongInRow = max(state.wrongInRow, attempts - left) }
            return state.history.complete(id, .opened(opening, generation: Int(generation)), at: now)
        }
    }

    /// What came back; the count of wrong PINs goes on from it.
    func answers(_ answer: WalletResponse, to id: Int, at now: Timestamp) -> HistoryViolation? {
        self.state.withLock { state in
            switch answer {
            case .verdict(.valid), .validWithForeignShare: state.wrongInRow = 0
            case .verdict(.wrong): state.wrongInRow += 1
            case .verdict, .opened, .pinKeyChanged, .refused: break
            }
            return state.history.complete(id, answer, at: now)
        }
    }

    /// Nothing came back and nothing will.
    func loses(_ id: Int, isWrong: Bool, at now: Timestamp) {
        self.state.withLock { state in
            if isWrong { state.wrongInRow += 1 }
            state.history.lose(id, at: now)
        }
    }

    /// The server's process ended before this moment.
    func serverEnded(by now: Timestamp) {
        self.state.withLock { $0.history.serverEnded(by: now) }
    }

    /// Whether no PIN was sent since this one.
    func isLastEntry(_ id: Int) -> Bool { self.state.withLock { $0.lastEntryID == id } }

    /// Whether one more wrong PIN is within the plan's limit.
    func allowsWrong(atMost limit: Int) -> Bool { self.state.withLock { $0.wrongInRow < limit } }

    /// Whether there were wrong PINs since the last right one, or may have been.
    var hasCounts: Bool { self.state.withLock { $0.wrongInRow > 0 } }

    var timesForgotten: Int { self.state.withLock { $0.history.overflowCount } }

    // MARK: Users

    func enter() { self.state.withLock { $0.users += 1 } }

    /// Whether nobody has it any more and nothing that was sent may still be judged: then its past fits into the file.
    func leave() -> Bool {
        self.state.withLock { state in
            state.users -= 1
            return state.users == 0 && state.history.isQuiet
        }
    }

    func kept(at now: Timestamp, generation: UInt32) -> WalletHistoryBytes {
        let kept = self.state.withLock { $0.history.summary(at: now, generation: Int(generation)) }
        return WalletHistoryBytes(first: kept.first, second: kept.second)
    }
}
