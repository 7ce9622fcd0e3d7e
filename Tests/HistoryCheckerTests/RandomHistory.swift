import TestSupport
import HistoryChecker
import Vocabulary

/// A random history of a wallet under load: operations over several connections, lost responses, crashes.
struct RandomHistory {
    struct Kind: Sendable {
        var connections = 1
        /// Of a thousand steps, those in which a response is lost, or the server crashes.
        var losses = 0
        var crashes = 0
        var changes = true
        /// Of a thousand operations, those that change the PIN.
        var changeShare = 60
        var retries = true
        /// Of a thousand operations, those with the right PIN.
        var rightShare = 300
        /// True if the run ends at random moments and continues from its summary.
        var resumes = false
        var operations = 40
    }

    private struct Pending {
        let id: Int
        let message: WalletOperation
        let attempt: Int
        var received: ModelServer.Received?
        var answer: WalletResponse?
        /// True if the response is discarded.
        var isLost = false
        var lostAt: Int64 = 0
    }

    static let lateEffect: Int64 = 400

    private var random: SeededGenerator
    private let kind: Kind
    private var server: ModelServer
    private let rules: CheckerRules
    private(set) var history: WalletHistory
    private var pending: [Pending] = []
    private var now: Int64 = 1_700_000_000_000
    private var nextID = 1
    private var nextGeneration = 1
    /// The generation that the wallet takes for the current one.
    private var generation = 0 {
        didSet { if oldValue != self.generation { self.lastGeneration = oldValue } }
    }
    private var lastGeneration = 0
    private var lastLost: (id: Int, message: WalletOperation)?
    private(set) var violations: [HistoryViolation] = []
    var faultCount: Int { self.server.faultCount }

    init(seed: UInt64, kind: Kind, policy: AttemptPolicy? = nil, fault: ModelFault? = nil) {
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

    /// Runs to the end, or until the first violation.
    mutating func run() async {
        while self.nextID <= self.kind.operations || !self.pending.isEmpty, self.violations.isEmpty {
            self.step()
            await Task.yield()
        }
    }

    private func chance(_ perThousand: Int, _ random: inout SeededGenerator) -> Bool {
        Int.random(in: 0..<1000, using: &random) < perThousand
    }

    private mutating func step() {
        self.now += [0, 0, 1, 1, 3, 20].randomElement(using: &self.random) ?? 1
        if self.pending.isEmpty, self.chance(60, &self.random) {
            self.now += Int64.random(in: 1...1200, using: &self.random)
        }
        if self.chance(self.kind.crashes, &self.random) { return self.crash() }
        let isFree = self.pending.count { !$0.isLost } < self.kind.connections
        if self.nextID <= self.kind.operations, isFree, self.pending.isEmpty || Bool.random(using: &self.random) {
            if self.kind.resumes, self.pending.allSatisfy(\.isLost), self.chance(50, &self.random) { self.resume() }
            return self.send()
        }
        guard let index = self.pending.indices.randomElement(using: &self.random) else { return }
        if !self.pending[index].isLost, self.chance(self.kind.losses, &self.random) { return self.lose(index) }
        self.advance(index)
    }

    /// Continues as a later run with this run's summary; lost operations are judged by then, or never.
    private mutating func resume() {
        for lost in self.pending {
            guard lost.answer == nil, Bool.random(using: &self.random) else { continue }
            let received = lost.received ?? self.server.receive(lost.message, attempt: lost.attempt, now: self.now)
            _ = self.server.judge(received)
        }
        self.pending = []
        let kept = self.history.summary(at: Timestamp(milliseconds: self.now), generation: self.generation)
        self.history = WalletHistory(self.rules, from: kept, generation: self.generation)
        self.lastLost = nil
    }

    private mutating func send() {
        let id = self.nextID
        self.nextID += 1
        var message: WalletOperation
        var attempt = id
        if self.kind.retries, let lost = self.lastLost, self.chance(600, &self.random) {
            // Repeats the attempt, sometimes with another PIN.
            message = lost.message
            if self.chance(300, &self.random) { message = .check(isRight: true, generation: self.generation) }
            attempt = lost.id
            if self.chance(500, &self.random) { self.lastLost = nil }
        } else {
            message = self.newOperation()
        }
        self.history.invoke(
            id,
            message,
            repeating: attempt == id ? nil : attempt,
            at: Timestamp(milliseconds: self.now)
        )
        self.pending.append(Pending(id: id, message: message, attempt: attempt))
    }

    private mutating func newOperation() -> WalletOperation {
        if self.chance(80, &self.random) { return .opening }
        let isRight = self.chance(self.kind.rightShare, &self.random)
        if self.generation > 0, self.chance(40, &self.random) {
            // A session that does not know the new PIN yet.
            return .check(isRight: isRight, generation: self.lastGeneration)
        }
        guard self.kind.changes, self.chance(self.kind.changeShare, &self.random) else {
            return .check(isRight: isRight, generation: self.generation)
        }
        self.nextGeneration += 1
        return .change(isRight: isRight, generation: self.generation, to: self.nextGeneration)
    }

    /// Takes one operation a step further: received, judged, answered.
    private mutating func advance(_ index: Int) {
        let message = self.pending[index]
        if message.isLost, self.now - message.lostAt >= Self.lateEffect {
            self.pending.remove(at: index)
        } else if let answer = message.answer {
            self.pending.remove(at: index)
            if !message.isLost { self.receive(answer, to: message) }
        } else if let received = message.received {
            self.pending[index].answer = self.server.judge(received)
        } else {
            self.pending[index].received = self.server.receive(message.message, attempt: message.attempt, now: self.now)
        }
    }

    private mutating func receive(_ answer: WalletResponse, to message: Pending) {
        switch answer {
        case .opened(_, let generation): self.generation = max(self.generation, generation)
        case .pinKeyChanged(let current?): self.generation = max(self.generation, current)
        case .verdict(.valid, _):
            if case .change(_, _, let next) = message.message { self.generation = max(self.generation, next) }
        case .verdict(.wrong, _) where self.chance(100, &self.random):
            self.lastLost = (message.attempt, message.message)
        default: break
        }
        if let violation = self.history.complete(message.id, answer, at: Timestamp(milliseconds: self.now)) {
            self.violations.append(violation)
        }
    }

    private mutating func lose(_ index: Int) {
        self.pending[index].isLost = true
        self.pending[index].lostAt = self.now
        let message = self.pending[index]
        if message.message != .opening { self.lastLost = (message.attempt, message.message) }
        if let violation = self.history.lose(message.id, at: Timestamp(milliseconds: self.now)) {
            self.violations.append(violation)
        }
    }

    private mutating func crash() {
        self.server.crash()
        let isReportedFirst = Bool.random(using: &self.random)
        if isReportedFirst { self.history.serverEnded(by: Timestamp(milliseconds: self.now)) }
        for index in self.pending.indices where !self.pending[index].isLost { self.lose(index) }
        self.pending = []
        if !isReportedFirst { self.history.serverEnded(by: Timestamp(milliseconds: self.now)) }
        self.now += 1
    }
}
