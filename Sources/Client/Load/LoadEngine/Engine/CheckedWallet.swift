internal import HistoryChecker
internal import HostSystem
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

    /// Records an operation before it is sent; returns its id.
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

    /// Records a response; returns a violation if a correct server could not have sent it.
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
    func serverEnded(by now: Timestamp) { self.state.withLock { $0.history.serverEnded(by: now) } }

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

extension Fleet {
    /// Resets the histories of all wallets to unknown.
    ///
    /// The next response to each wallet is then accepted, and later responses are checked.
    ///
    /// Use this if the server's store was restored from a backup, so that its counts legitimately differ from those of
    /// earlier runs.
    package func forgetHistories() throws(FleetError) {
        for index in 0..<self.count { try self.record(of: index) { _ in .unknown } }
    }
}

/// The histories of the wallets in use, loaded from the fleet's file and saved to it.
///
/// While a wallet is in use, its history in the file is "unknown", so that the next run does not raise a false alarm if
/// this one is killed. A wallet with operations that may still be judged stays in the cache until the end.
final class WalletHistoryCache: Sendable {
    private let fleet: Fleet
    private let rules: CheckerRules
    private let unknown: HistorySummary
    private let keepsTranscripts: Bool
    private let wallets = Mutex<[Int: CheckedWallet]>([:])
    private let past = Mutex(Past())

    /// Data about wallets that are no longer in use.
    private struct Past {
        var overflowCount = 0
        var epochStepCount = 0
        var uses = 0
        /// The wallets with wrong PINs counted on the server, each with the number of its last use.
        var withCounts: [Int: Int] = [:]

        mutating func note(_ wallet: CheckedWallet, atMost most: Int) {
            let index = wallet.wallet.index
            self.overflowCount += wallet.overflowCount
            self.epochStepCount += wallet.epochStepCount
            self.uses += 1
            if !wallet.hasCounts {
                self.withCounts[index] = nil
            } else if self.withCounts.count < most || self.withCounts[index] != nil {
                self.withCounts[index] = self.uses
            }
        }
    }

    /// The maximum number of wallets to remember for the check at the end of a run.
    private static let maxRemembered = 100_000

    init(_ fleet: Fleet, _ rules: CheckerRules, keepsTranscripts: Bool = false) {
        self.keepsTranscripts = keepsTranscripts
        self.fleet = fleet
        self.rules = rules
        self.unknown = WalletHistory(unknownUnder: rules).summary(at: Timestamp(milliseconds: 0), generation: 0)
    }

    /// Starts using a wallet.
    func open(_ index: Int) throws(FleetFailure) -> CheckedWallet {
        let known = self.wallets.withLock { wallets in
            wallets[index]?.enter()
            return wallets[index]
        }
        if let known { return known }
        let loaded = try mapError(self.load(index), to: FleetFailure.fleet)
        return self.wallets.withLock { wallets in
            let first = wallets[index] ?? loaded
            first.enter()
            wallets[index] = first
            return first
        }
    }

    private func load(_ index: Int) throws(FleetError) -> CheckedWallet {
        let (wallet, summary) = try self.fleet.takeHistory(of: index, leaving: self.unknown)
        return CheckedWallet(
            wallet,
            WalletHistory(self.rules, from: summary, generation: Int(wallet.generation)),
            attemptsPerRound: self.rules.policy.attemptsPerRound,
            keepsTranscript: self.keepsTranscripts
        )
    }

    /// Records that a user no longer uses a wallet.
    func close(_ wallet: CheckedWallet, at now: Timestamp) throws(FleetFailure) {
        let isDone = self.wallets.withLock { wallets in
            guard wallet.leave() else { return false }
            wallets[wallet.wallet.index] = nil
            return true
        }
        guard isDone else { return }
        self.past.withLock { $0.note(wallet, atMost: Self.maxRemembered) }
        try mapError(self.save(wallet, at: now), to: FleetFailure.fleet)
    }

    /// The wallets with wrong PINs counted on the server, most recently used first.
    var withCounts: [Int] {
        let inUse = self.wallets.withLock { wallets in wallets.values.filter(\.hasCounts).map(\.wallet.index) }
        let past = self.past.withLock(\.withCounts)
        return inUse + past.sorted { $0.value > $1.value }.map(\.key).filter { !inUse.contains($0) }
    }

    /// A randomly chosen wallet with a session, or nil if no session is open.
    var anyInUse: CheckedWallet? { self.wallets.withLock { $0.values.filter { $0.hasUsers }.randomElement() } }

    /// Saves the remaining wallets.
    ///
    /// Must be called after all connections have closed. Returns the number of overflows and the number of epoch steps
    /// in all histories.
    func saveAll(at now: Timestamp) throws(FleetError) -> (overflows: Int, epochSteps: Int) {
        let rest = self.wallets.withLock { wallets in
            defer { wallets = [:] }
            return Array(wallets.values)
        }
        for wallet in rest { try self.save(wallet, at: now) }
        return self.past.withLock { past in
            (
                rest.reduce(past.overflowCount) { $0 + $1.overflowCount },
                rest.reduce(past.epochStepCount) { $0 + $1.epochStepCount }
            )
        }
    }

    /// Records that the server's process ended before this moment.
    func serverEnded(by now: Timestamp) {
        for wallet in self.wallets.withLock({ Array($0.values) }) { wallet.serverEnded(by: now) }
    }

    private func save(_ wallet: CheckedWallet, at now: Timestamp) throws(FleetError) {
        // The generation in the file counts, because the PIN may have been changed during the session.
        try self.fleet.record(of: wallet.wallet.index) { wallet.summary(at: now, generation: $0) }
    }
}

/// The last events of a wallet as text, for reporting a violation.
struct WalletTranscript: Sendable {
    private var lines: [String] = []

    /// The maximum number of lines.
    ///
    /// It allows for about thirty operations.
    private static let limit = 60

    mutating func sent(_ id: Int, _ operation: WalletOperation, repeating first: Int?, at now: Timestamp) {
        let again = first.map { ", repeating \($0)" } ?? ""
        self.append("\(id) sent: \(operation.text)\(again)", at: now)
    }

    mutating func answered(_ id: Int, _ response: WalletResponse, at now: Timestamp) {
        self.append("\(id) answered: \(response.text)", at: now)
    }

    mutating func lost(_ id: Int, at now: Timestamp) { self.append("\(id) got no answer", at: now) }

    mutating func revoked(at now: Timestamp) { self.append("revocation returned", at: now) }

    private mutating func append(_ text: String, at now: Timestamp) {
        if self.lines.count == Self.limit { self.lines.removeFirst() }
        self.lines.append("\(now.milliseconds) \(text)")
    }

    /// The events in order, each with its time in ms since 1970.
    var rows: [(time: String, event: String)] {
        self.lines.map { line in
            let parts = line.split(separator: " ", maxSplits: 1)
            return (String(parts[0]), String(parts[1]))
        }
    }
}

extension WalletOperation {
    fileprivate var text: String {
        switch self {
        case .check(let isRight, let generation): "check of a \(isRight ? "right" : "wrong") PIN for key \(generation)"
        case .change(let isRight, let generation, let next):
            "change with a \(isRight ? "right" : "wrong") PIN from key \(generation) to \(next)"
        case .opening: "session"
        }
    }
}

extension WalletResponse {
    fileprivate var text: String {
        switch self {
        case .verdict(let verdict, let place):
            "\(verdict.text), "
                + (place.map { "number \($0.number)\($0.isJudged ? "" : " (not judged)"), epoch \($0.epoch)" }
                    ?? "no receipt")
        case .validWithForeignShare: "valid, with a share that is not this wallet's"
        case .opened(let state, let generation): "session: \(state.text), key \(generation)"
        case .pinKeyChanged(let current): "another PIN key: \(current.map { "\($0)" } ?? "unknown")"
        case .refused: "refused without judging"
        case .revoked: "revoked"
        }
    }
}

extension PINVerdict {
    fileprivate var text: String {
        switch self {
        case .valid: "valid"
        case .wrong(let state): "wrong, \(state.text)"
        case .blocked(let remaining): "blocked for \(remaining.milliseconds) ms"
        case .blockedPermanently: "blocked permanently"
        }
    }
}
