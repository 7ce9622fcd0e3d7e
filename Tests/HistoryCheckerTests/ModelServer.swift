import HistoryChecker
import Vocabulary

/// What is wrong with a model server.
enum Fault: String, CaseIterable, Sendable {
    /// A verdict leaves before it is durable: a crash takes the count back.
    case crashGivesGuessBack
    /// The count is read when a message comes and written when it is judged.
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
    let fault: Fault?
    private(set) var state = State()
    /// How often the fault made a difference to what is kept or said.
    private(set) var timesWrong = 0
    /// What a crash leaves where the last commit was not durable.
    private var durable = State()

    struct State: Equatable {
        var wrongOnes = 0
        var blockEnd: Int64?
        var blockLength: Int64 = 0
        var isOver = false
        var generation = 0
        var last: Int?
    }

    /// A message as it lies in the server.
    struct Taken {
        let message: WalletOperation
        let entry: Int
        let now: Int64
        let wrongOnesThen: Int
    }

    init(_ policy: AttemptPolicy, fault: Fault? = nil) {
        self.policy = policy
        self.fault = fault
    }

    func take(_ message: WalletOperation, entry: Int, now: Int64) -> Taken {
        Taken(message: message, entry: entry, now: now, wrongOnesThen: self.state.wrongOnes)
    }

    mutating func judge(_ taken: Taken) -> WalletResponse {
        self.durable = self.state
        switch taken.message {
        case .opening: return self.opening(taken)
        case .check(let isRight, let generation): return self.enter(isRight, generation, nil, taken)
        case .change(let isRight, let generation, let next): return self.enter(isRight, generation, next, taken)
        }
    }

    mutating func crash() {
        switch self.fault {
        case .crashGivesGuessBack: self.become(self.durable)
        case .crashForgetsBlock:
            var next = self.state
            next.blockEnd = nil
            self.become(next)
        case .crashResetsCount where !self.state.isOver:
            var next = self.state
            (next.wrongOnes, next.blockEnd) = (0, nil)
            self.become(next)
        default: break
        }
    }

    private mutating func become(_ other: State) {
        if other != self.state { self.timesWrong += 1 }
        self.state = other
    }

    private mutating func opening(_ taken: Taken) -> WalletResponse {
        var shown = self.shown(taken.now)
        if self.fault == .openingShowsFullRound, case .open(let left, let isFinal) = shown,
            left != self.policy.attemptsPerRound
        {
            self.timesWrong += 1
            shown = .open(attemptsLeft: self.policy.attemptsPerRound, finalRound: isFinal)
        }
        return .opened(shown, generation: self.state.generation)
    }

    private mutating func enter(_ isRight: Bool, _ generation: Int, _ next: Int?, _ taken: Taken) -> WalletResponse {
        if generation != self.state.generation {
            guard self.fault == .oldPINStillWorks, isRight, !self.state.isOver, self.wait(taken.now) == nil else {
                return .pinKeyChanged(current: self.state.generation)
            }
            self.timesWrong += 1
        }
        if self.state.isOver {
            guard self.fault == .forgetsPermanentBlock else { return .verdict(.blockedPermanently) }
            self.become(State(generation: self.state.generation))
        }
        if let wait = self.wait(taken.now) {
            if self.fault == .judgesInBlock {
                self.timesWrong += 1
            } else {
                self.state.blockEnd = taken.now + wait
                return .verdict(.blocked(remaining: .milliseconds(wait)))
            }
        } else if self.fault == .blocksWithoutCause, taken.entry.isMultiple(of: 7) {
            self.timesWrong += 1
            return .verdict(.blocked(remaining: .milliseconds(500)))
        }
        if taken.entry == self.state.last {
            switch self.fault {
            case .retryIsFree where isRight: self.timesWrong += 1
            case .retryCosts: self.timesWrong += 1
            default: return .verdict(.wrong(self.shown(taken.now)))
            }
        }
        return isRight ? self.right(next, taken) : self.wrong(taken)
    }

    private mutating func right(_ next: Int?, _ taken: Taken) -> WalletResponse {
        if taken.entry.isMultiple(of: 5) {
            if self.fault == .rightCalledWrong {
                self.timesWrong += 1
                return self.wrong(taken)
            }
            if self.fault == .rightCalledWrongUncounted {
                self.timesWrong += 1
                return .verdict(.wrong(self.shown(taken.now)))
            }
        }
        let generation = next ?? self.state.generation
        let count = self.state.wrongOnes
        self.state = State(generation: self.fault == .changeWithoutEffect ? self.state.generation : generation)
        if self.state.generation != generation { self.timesWrong += 1 }
        if self.fault == .countSurvivesRight, count > 0, count % self.policy.attemptsPerRound != 0 {
            self.timesWrong += 1
            self.state.wrongOnes = count
        }
        if self.fault == .shareOfAnother, next == nil, taken.entry.isMultiple(of: 5) {
            self.timesWrong += 1
            return .validWithForeignShare
        }
        return .verdict(.valid)
    }

    private mutating func wrong(_ taken: Taken) -> WalletResponse {
        if self.fault == .wrongCalledValid, taken.entry.isMultiple(of: 5) {
            self.timesWrong += 1
            return .verdict(.valid)
        }
        self.state.last = taken.entry
        if self.fault == .burstGivesGuesses {
            if taken.wrongOnesThen != self.state.wrongOnes { self.timesWrong += 1 }
            self.state.wrongOnes = taken.wrongOnesThen + 1
        } else {
            self.state.wrongOnes += 1
        }
        self.state.blockEnd = nil
        self.endRound(taken)
        var shown = self.shown(taken.now)
        if case .open(let left, let isFinal) = shown {
            if self.fault == .attemptsLeftOneMore {
                self.timesWrong += 1
                shown = .open(attemptsLeft: left + 1, finalRound: isFinal)
            }
            if self.fault == .finalRoundNotTold, isFinal {
                self.timesWrong += 1
                shown = .open(attemptsLeft: left, finalRound: false)
            }
        }
        return .verdict(.wrong(shown))
    }

    private mutating func endRound(_ taken: Taken) {
        let count = self.state.wrongOnes
        if count >= self.policy.rounds * self.policy.attemptsPerRound {
            if self.fault == .noPermanentBlock { self.timesWrong += 1 } else { self.state.isOver = true }
            return
        }
        var placed = count
        if self.fault == .roundOneLonger { placed -= 1 }
        if self.fault == .roundOneShorter { placed += 1 }
        let isEnd = placed > 0 && placed % self.policy.attemptsPerRound == 0
        let shouldEnd = count % self.policy.attemptsPerRound == 0
        guard !self.policy.blocks.isEmpty else { return }
        if isEnd != shouldEnd { self.timesWrong += 1 }
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
        if length != proper { self.timesWrong += 1 }
        guard length > 0 else { return }
        (self.state.blockEnd, self.state.blockLength) = (taken.now + length, length)
    }

    private func wait(_ now: Int64) -> Int64? {
        guard let end = self.state.blockEnd, end > now else { return nil }
        return min(end - now, self.state.blockLength)
    }

    private func shown(_ now: Int64) -> PINState {
        if self.state.isOver { return .blockedPermanently }
        if let wait = self.wait(now) { return .blocked(remaining: .milliseconds(wait)) }
        let (rounds, perRound) = (self.policy.rounds, self.policy.attemptsPerRound)
        guard self.state.wrongOnes < rounds * perRound else { return .open(attemptsLeft: 1, finalRound: true) }
        let round = self.state.wrongOnes / perRound + 1
        return .open(attemptsLeft: perRound - self.state.wrongOnes % perRound, finalRound: round == rounds)
    }
}
