import HistoryChecker
import Vocabulary

/// A fault of a model server.
enum ModelFault: String, CaseIterable, Sendable {
    /// A verdict is sent before it is durable: a crash takes the count back.
    case crashGivesGuessBack
    /// The count is read when an operation arrives and written when it is judged.
    case burstGivesGuesses
    /// A repeated attempt id is judged and not counted.
    case retryIsFree
    /// A repeated attempt id is counted again.
    case retryCosts
    case judgesInBlock
    case crashForgetsBlock
    case rightCalledWrong
    case rightCalledWrongUncounted
    case wrongCalledValid
    case countSurvivesRight
    case roundOneLonger
    case roundOneShorter
    case attemptsLeftOneMore
    case finalRoundNotTold
    case blockHalfAsLong
    case blockTwiceAsLong
    case blockOfLastRoundMissing
    case shareOfAnother
    case forgetsPermanentBlock
    case noPermanentBlock
    case blocksWithoutCause
    case oldPINStillWorks
    case changeWithoutEffect
    case openingShowsFullRound
    case crashResetsCount
}

/// The rules of PF2.8 on plain numbers, with at most one fault.
struct ModelServer {
    let policy: AttemptPolicy
    let fault: ModelFault?
    private(set) var state = State()
    /// The number of times that the fault changed the state or a response.
    private(set) var faultCount = 0
    /// The state after a crash if the last commit was not durable.
    private var durable = State()

    struct State: Equatable {
        var failures = 0
        var blockEnd: Int64?
        var blockLength: Int64 = 0
        var isPermanent = false
        var generation = 0
        var last: Int?
        /// The number of judged attempts.
        var number: UInt64 = 0
    }

    /// True if the present operation was counted and judged.
    private var isJudged = false

    /// An operation as received by the server.
    struct Received {
        let message: WalletOperation
        let attempt: Int
        let now: Int64
        let failuresThen: Int
    }

    init(_ policy: AttemptPolicy, fault: ModelFault? = nil) {
        self.policy = policy
        self.fault = fault
    }

    func receive(_ message: WalletOperation, attempt: Int, now: Int64) -> Received {
        Received(message: message, attempt: attempt, now: now, failuresThen: self.state.failures)
    }

    mutating func judge(_ received: Received) -> WalletResponse {
        self.durable = self.state
        self.isJudged = false
        let response =
            switch received.message {
            case .opening: self.opening(received)
            case .check(let isRight, let generation): self.enter(isRight, generation, nil, received)
            case .change(let isRight, let generation, let next): self.enter(isRight, generation, next, received)
            }
        guard case .verdict(let verdict, _) = response else { return response }
        return .verdict(verdict, VerdictPlace(number: self.state.number, isJudged: self.isJudged))
    }

    mutating func crash() {
        switch self.fault {
        case .crashGivesGuessBack: self.become(self.durable)
        case .crashForgetsBlock:
            var next = self.state
            next.blockEnd = nil
            self.become(next)
        case .crashResetsCount where !self.state.isPermanent:
            var next = self.state
            (next.failures, next.blockEnd) = (0, nil)
            self.become(next)
        default: break
        }
    }

    private mutating func become(_ other: State) {
        if other != self.state { self.faultCount += 1 }
        self.state = other
    }

    private mutating func opening(_ received: Received) -> WalletResponse {
        var shown = self.shown(received.now)
        if self.fault == .openingShowsFullRound, case .open(let left, let isFinal) = shown,
            left != self.policy.attemptsPerRound
        {
            self.faultCount += 1
            shown = .open(attemptsLeft: self.policy.attemptsPerRound, finalRound: isFinal)
        }
        return .opened(shown, generation: self.state.generation)
    }

    private mutating func enter(_ isRight: Bool, _ generation: Int, _ next: Int?, _ received: Received)
        -> WalletResponse
    {
        if generation != self.state.generation {
            guard self.fault == .oldPINStillWorks, isRight, !self.state.isPermanent, self.wait(received.now) == nil
            else {
                return .pinKeyChanged(current: self.state.generation)
            }
            self.faultCount += 1
        }
        if self.state.isPermanent {
            guard self.fault == .forgetsPermanentBlock else { return .verdict(.blockedPermanently, nil) }
            self.become(State(generation: self.state.generation, number: self.state.number))
        }
        if let wait = self.wait(received.now) {
            if self.fault == .judgesInBlock {
                self.faultCount += 1
            } else {
                self.state.blockEnd = received.now + wait
                return .verdict(.blocked(remaining: .milliseconds(wait)), nil)
            }
        } else if self.fault == .blocksWithoutCause, received.attempt.isMultiple(of: 7) {
            self.faultCount += 1
            return .verdict(.blocked(remaining: .milliseconds(500)), nil)
        }
        if received.attempt == self.state.last {
            switch self.fault {
            case .retryIsFree where isRight: self.faultCount += 1
            case .retryCosts: self.faultCount += 1
            default: return .verdict(.wrong(self.shown(received.now)), nil)
            }
        }
        return isRight ? self.right(next, received) : self.wrong(received)
    }

    /// Counts the operation among the judged attempts.
    private mutating func number() {
        guard !self.isJudged else { return }
        self.isJudged = true
        self.state.number += 1
    }

    private mutating func right(_ next: Int?, _ received: Received) -> WalletResponse {
        self.number()
        if received.attempt.isMultiple(of: 5) {
            if self.fault == .rightCalledWrong {
                self.faultCount += 1
                return self.wrong(received)
            }
            if self.fault == .rightCalledWrongUncounted {
                self.faultCount += 1
                return .verdict(.wrong(self.shown(received.now)), nil)
            }
        }
        let generation = next ?? self.state.generation
        let count = self.state.failures
        let current = self.fault == .changeWithoutEffect ? self.state.generation : generation
        self.state = State(generation: current, number: self.state.number)
        if self.state.generation != generation { self.faultCount += 1 }
        if self.fault == .countSurvivesRight, count > 0, count % self.policy.attemptsPerRound != 0 {
            self.faultCount += 1
            self.state.failures = count
        }
        if self.fault == .shareOfAnother, next == nil, received.attempt.isMultiple(of: 5) {
            self.faultCount += 1
            return .validWithForeignShare
        }
        return .verdict(.valid, nil)
    }

    private mutating func wrong(_ received: Received) -> WalletResponse {
        self.number()
        if self.fault == .wrongCalledValid, received.attempt.isMultiple(of: 5) {
            self.faultCount += 1
            return .verdict(.valid, nil)
        }
        self.state.last = received.attempt
        if self.fault == .burstGivesGuesses {
            if received.failuresThen != self.state.failures { self.faultCount += 1 }
            self.state.failures = received.failuresThen + 1
        } else {
            self.state.failures += 1
        }
        self.state.blockEnd = nil
        self.endRound(received)
        var shown = self.shown(received.now)
        if case .open(let left, let isFinal) = shown {
            if self.fault == .attemptsLeftOneMore {
                self.faultCount += 1
                shown = .open(attemptsLeft: left + 1, finalRound: isFinal)
            }
            if self.fault == .finalRoundNotTold, isFinal {
                self.faultCount += 1
                shown = .open(attemptsLeft: left, finalRound: false)
            }
        }
        return .verdict(.wrong(shown), nil)
    }

    private mutating func endRound(_ received: Received) {
        let count = self.state.failures
        if count >= self.policy.rounds * self.policy.attemptsPerRound {
            if self.fault == .noPermanentBlock { self.faultCount += 1 } else { self.state.isPermanent = true }
            return
        }
        var placed = count
        if self.fault == .roundOneLonger { placed -= 1 }
        if self.fault == .roundOneShorter { placed += 1 }
        let isEnd = placed > 0 && placed % self.policy.attemptsPerRound == 0
        let shouldEnd = count % self.policy.attemptsPerRound == 0
        guard !self.policy.blocks.isEmpty else { return }
        if isEnd != shouldEnd { self.faultCount += 1 }
        guard isEnd else { return }
        let round = max(1, placed / self.policy.attemptsPerRound)
        var length = self.policy.blocks[min(round, self.policy.blocks.count) - 1].milliseconds
        let proper = length
        switch self.fault {
        case .blockHalfAsLong: length /= 2
        case .blockTwiceAsLong: length *= 2
        case .blockOfLastRoundMissing where round > self.policy.blocks.count: length = 0
        default: break
        }
        if length != proper { self.faultCount += 1 }
        guard length > 0 else { return }
        (self.state.blockEnd, self.state.blockLength) = (received.now + length, length)
    }

    private func wait(_ now: Int64) -> Int64? {
        guard let end = self.state.blockEnd, end > now else { return nil }
        return min(end - now, self.state.blockLength)
    }

    private func shown(_ now: Int64) -> PINState {
        if self.state.isPermanent { return .blockedPermanently }
        if let wait = self.wait(now) { return .blocked(remaining: .milliseconds(wait)) }
        let (rounds, perRound) = (self.policy.rounds, self.policy.attemptsPerRound)
        guard self.state.failures < rounds * perRound else { return .open(attemptsLeft: 1, finalRound: true) }
        let round = self.state.failures / perRound + 1
        return .open(attemptsLeft: perRound - self.state.failures % perRound, finalRound: round == rounds)
    }
}
