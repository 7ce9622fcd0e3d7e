import TestSupport
import HistoryChecker
import Vocabulary

/// A wallet's life under load, drawn by chance: messages over several connections, answers that are lost, crashes.
struct Journey {
    struct Kind: Sendable {
        var connections = 1
        /// Of a thousand steps, those in which an answer is lost, or the server crashes.
        var losses = 0
        var crashes = 0
        var changes = true
        /// Of a thousand messages, those that change the PIN.
        var changeShare = 60
        var retries = true
        /// Of a thousand messages, those with the right PIN.
        var rightOnes = 300
        /// Whether the run ends now and then and goes on from what was kept.
        var isKept = false
        var messages = 40
    }

    private struct OnItsWay {
        let id: Int
        let message: WalletOperation
        let entry: Int
        var taken: ModelServer.Taken?
        var answer: WalletResponse?
        /// Nobody waits for the answer.
        var isLost = false
        var lostAt: Int64 = 0
    }

    static let lateEffect: Int64 = 400

    private var random: SeededGenerator
    private let kind: Kind
    private var server: ModelServer
    private let rules: CheckerRules
    private(set) var history: WalletHistory
    private var onItsWay: [OnItsWay] = []
    private var now: Int64 = 1_700_000_000_000
    private var nextID = 1
    private var nextGeneration = 1
    /// The generation that the wallet holds for the current one.
    private var generation = 0 {
        didSet { if oldValue != self.generation { self.lastGeneration = oldValue } }
    }
    private var lastGeneration = 0
    private var lastLost: (id: Int, message: WalletOperation)?
    private(set) var violations: [HistoryViolation] = []
    var timesWrong: Int { self.server.timesWrong }

    init(seed: UInt64, kind: Kind, policy: AttemptPolicy? = nil, fault: Fault? = nil) {
        var random = SeededGenerator(seed: seed)
        let policy = policy ?? Self.policy(&random)
        let rules = CheckerRules(
            policy: policy,
            clockTolerance: .milliseconds(1),
            lateEffect: .milliseconds(Self.lateEffect)
        )
        self.random = random
        self.kind = kind
        self.server = ModelServer(policy, fault: fault)
        self.rules = rules
        self.history = WalletHistory(rules)
    }

    private static func policy(_ random: inout SeededGenerator) -> AttemptPolicy {
        let rounds = Int.random(in: 1...4, using: &random)
        let count = Int.random(in: 0...(rounds - 1), using: &random)
        let blocks = (0..<count).map { _ in
            Duration.milliseconds([0, 7, 60, 900].randomElement(using: &random) ?? 0)
        }
        let attempts = Int.random(in: 1...5, using: &random)
        return AttemptPolicy(rounds: rounds, attemptsPerRound: attempts, blocks: blocks) ?? .standard
    }

    /// Lives it to its end, or until the first violation.
    mutating func live() async {
        while self.nextID <= self.kind.messages || !self.onItsWay.isEmpty, self.violations.isEmpty {
            self.step()
            await Task.yield()
        }
    }

    private func chance(_ perThousand: Int, _ random: inout SeededGenerator) -> Bool {
        Int.random(in: 0..<1000, using: &random) < perThousand
    }

    private mutating func step() {
        self.now += [0, 0, 1, 1, 3, 20].randomElement(using: &self.random) ?? 1
        if self.onItsWay.isEmpty, self.chance(60, &self.random) {
            self.now += Int64.random(in: 1...1200, using: &self.random)
        }
        if self.chance(self.kind.crashes, &self.random) { return self.crash() }
        let isFree = self.onItsWay.count { !$0.isLost } < self.kind.connections
        if self.nextID <= self.kind.messages, isFree, self.onItsWay.isEmpty || Bool.random(using: &self.random) {
            if self.kind.isKept, self.onItsWay.allSatisfy(\.isLost), self.chance(50, &self.random) { self.keep() }
            return self.send()
        }
        guard let index = self.onItsWay.indices.randomElement(using: &self.random) else { return }
        if !self.onItsWay[index].isLost, self.chance(self.kind.losses, &self.random) { return self.lose(index) }
        self.advance(index)
    }

    /// What a later run knows is what this one kept; what was lost is judged by then, or never.
    private mutating func keep() {
        for lost in self.onItsWay {
            guard lost.answer == nil, Bool.random(using: &self.random) else { continue }
            let taken = lost.taken ?? self.server.take(lost.message, entry: lost.entry, now: self.now)
            _ = self.server.judge(taken)
        }
        self.onItsWay = []
        let kept = self.history.summary(at: Timestamp(milliseconds: self.now), generation: self.generation)
        self.history = WalletHistory(self.rules, from: kept, generation: self.generation)
        self.lastLost = nil
    }

    private mutating func send() {
        let id = self.nextID
        self.nextID += 1
        var message: WalletOperation
        var entry = id
        if self.kind.retries, let lost = self.lastLost, self.chance(600, &self.random) {
            // The same entry again, now and then with another PIN.
            message = lost.message
            if self.chance(300, &self.random) { message = .check(isRight: true, generation: self.generation) }
            entry = lost.id
            if self.chance(500, &self.random) { self.lastLost = nil }
        } else {
            message = self.newMessage()
        }
        self.history.invoke(id, message, repeating: entry == id ? nil : entry, at: Timestamp(milliseconds: self.now))
        self.onItsWay.append(OnItsWay(id: id, message: message, entry: entry))
    }

    private mutating func newMessage() -> WalletOperation {
        if self.chance(80, &self.random) { return .opening }
        let isRight = self.chance(self.kind.rightOnes, &self.random)
        if self.generation > 0, self.chance(40, &self.random) {
            // A session that has not heard of the new PIN yet.
            return .check(isRight: isRight, generation: self.lastGeneration)
        }
        guard self.kind.changes, self.chance(self.kind.changeShare, &self.random) else {
            return .check(isRight: isRight, generation: self.generation)
        }
        self.nextGeneration += 1
        return .change(isRight: isRight, generation: self.generation, to: self.nextGeneration)
    }

    /// The next thing happens to one message: taken, judged, answered.
    private mutating func advance(_ index: Int) {
        let message = self.onItsWay[index]
        if message.isLost, self.now - message.lostAt >= Self.lateEffect {
            self.onItsWay.remove(at: index)
        } else if let answer = message.answer {
            self.onItsWay.remove(at: index)
            if !message.isLost { self.receive(answer, to: message) }
        } else if let taken = message.taken {
            self.onItsWay[index].answer = self.server.judge(taken)
        } else {
            self.onItsWay[index].taken = self.server.take(message.message, entry: message.entry, now: self.now)
        }
    }

    private mutating func receive(_ answer: WalletResponse, to message: OnItsWay) {
        switch answer {
        case .opened(_, let generation): self.generation = max(self.generation, generation)
        case .pinKeyChanged(let current?): self.generation = max(self.generation, current)
        case .verdict(.valid):
            if case .change(_, _, let next) = message.message { self.generation = max(self.generation, next) }
        case .verdict(.wrong) where self.chance(100, &self.random): self.lastLost = (message.entry, message.message)
        default: break
        }
        if let violation = self.history.complete(message.id, answer, at: Timestamp(milliseconds: self.now)) {
            self.violations.append(violation)
        }
    }

    private mutating func lose(_ index: Int) {
        self.onItsWay[index].isLost = true
        self.onItsWay[index].lostAt = self.now
        let message = self.onItsWay[index]
        if message.message != .opening { self.lastLost = (message.entry, message.message) }
        self.history.lose(message.id, at: Timestamp(milliseconds: self.now))
    }

    private mutating func crash() {
        self.server.crash()
        let isToldFirst = Bool.random(using: &self.random)
        if isToldFirst { self.history.serverEnded(by: Timestamp(milliseconds: self.now)) }
        for index in self.onItsWay.indices where !self.onItsWay[index].isLost { self.lose(index) }
        self.onItsWay = []
        if !isToldFirst { self.history.serverEnded(by: Timestamp(milliseconds: self.now)) }
        self.now += 1
    }
}
