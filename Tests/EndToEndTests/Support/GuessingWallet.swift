import Secrets
import TestSupport
import Testing
import Transport
import Vocabulary
import Wire

/// A wallet that guesses and tracks the counts that its answers allow.
///
/// `possible` holds every number of failed attempts that the server may have stored. After an answer it is exactly one.
/// An unanswered wrong PIN may be counted or not; an unanswered right one may have reset the count, and never raises
/// it.
actor GuessingWallet {
    /// The number of attempts in the server's configuration.
    static let allowance = 16

    private static let pin = "024791"

    private(set) var wallet: TestWallet
    private(set) var possible: Set<Int> = [0]
    /// The number of calls that a kill of the server left unanswered.
    private(set) var unanswered = 0
    private var random: SeededRandom
    private let lab: LabUnderTest
    /// True if the wallet never enters the right PIN and so uses up its attempts.
    private let isStubborn: Bool
    private var session: TestSession?

    init(in lab: LabUnderTest, random: SeededRandom, isStubborn: Bool = false) async throws {
        self.lab = lab
        self.random = random
        self.isStubborn = isStubborn
        self.wallet = try await lab.register(pin: Self.pin)
    }

    /// Opens a session and compares the server's count with the possible ones.
    func openSession() async throws {
        try self.take(try await self.wallet.openSession())
    }

    /// Opens a session while the server may be killed; reports the beginning and the end to `moment`.
    func openSession(_ moment: EventTrigger) async throws {
        moment.passes()
        guard let session = try await self.unlessGone({ try await self.wallet.openSession() }) else { return }
        moment.passes()
        try self.take(session)
    }

    private func take(_ session: TestSession) throws {
        let counted = Self.counted(try #require(session.pinState))
        #expect(self.possible.contains(counted), "seed \(self.random.seed): \(counted) of \(self.possible) are counted")
        self.possible = [counted]
        self.session = session
    }

    /// Guesses until the server is killed; reports each call to `moment` when it is sent and when it is answered.
    func guessUntilGone(_ moment: EventTrigger) async throws {
        let session = try self.session.orThrow()
        while let answer = try await self.guess(self.next(), in: session, moment) { self.learn(answer) }
    }

    /// Makes one guess, right or wrong at random.
    func guess() async throws -> Refusal.Reason? {
        try await self.guess(right: self.random.isOne(in: 2))
    }

    /// Makes one guess in the current session and updates the possible counts; returns the refusal, nil for a verdict.
    func guess(right: Bool) async throws -> Refusal.Reason? {
        let session = try self.session.orThrow()
        let answer = try await self.guess(right, in: session, nil).orThrow()
        return self.learn(answer)
    }

    /// Whether the wallet has certainly used up its attempts.
    var isBlocked: Bool { self.possible == [Self.allowance] }

    /// Replaces the permanently blocked wallet with a new one.
    func registerAnew() async throws {
        self.wallet = try await self.lab.register(pin: Self.pin)
        self.possible = [0]
        self.session = nil
    }

    private typealias Answered = (right: Bool, result: CallResult)

    private func guess(_ right: Bool, in session: TestSession, _ moment: EventTrigger?) async throws -> Answered? {
        let wrong = String(Int.random(in: 100_000...999_999, using: &self.random))
        let call = Call.instruct(try session.instructCall(pin: right ? Self.pin : wrong))
        let connection = session.connection
        let result = try await self.unlessGone {
            async let result = connection.call(call, timeout: TestWallet.patience)
            moment?.passes()
            return try await result
        }
        guard let result else {
            self.unanswered += 1
            self.possible.formUnion(right ? [0] : self.possible.map { min($0 + 1, Self.allowance) })
            return nil
        }
        moment?.passes()
        return (right, result)
    }

    /// Returns whether to enter the right PIN: now and then, and always before the attempts may be used up.
    private func next() -> Bool {
        if self.isStubborn { return false }
        return (self.possible.max() ?? 0) >= Self.allowance - 3 || self.random.isOne(in: 5)
    }

    @discardableResult
    private func learn(_ answer: Answered) -> Refusal.Reason? {
        switch answer.result.withoutReceipt {
        case .instruct(.pinValid(let share, _)):
            #expect(answer.right && share.isEqual(to: self.wallet.unlockShare))
            #expect(self.possible != [Self.allowance], "a permanently blocked wallet was opened")
            self.possible = [0]
        case .instruct(.wrong(let state)):
            let counted = Self.counted(state)
            #expect(!answer.right && self.possible.contains(counted - 1), "\(counted) after \(self.possible)")
            self.possible = [counted]
        case .instruct(.blockedPermanently):
            #expect(self.possible.contains(Self.allowance))
            self.possible = [Self.allowance]
        case .refused(let refusal):
            return refusal.reason
        case let other:
            Issue.record("an answer that does not belong to a guess: \(other)")
        }
        return nil
    }

    private func unlessGone<Value>(_ body: () async throws -> Value) async throws -> Value? {
        do {
            return try await body()
        } catch CallError.closed {
            return nil
        } catch is ConnectError {
            return nil
        }
    }

    static func counted(_ state: PINState) -> Int {
        switch state {
        case .open(let attemptsLeft, finalRound: true): return Self.allowance - attemptsLeft
        case .blockedPermanently: return Self.allowance
        case .open, .blocked:
            Issue.record("a single round has no blocks and no later rounds: \(state)")
            return -1
        }
    }
}

extension Sequence where Element == GuessingWallet {
    /// Runs an action for all wallets concurrently.
    func all(_ body: @escaping @Sendable (GuessingWallet) async throws -> Void) async throws {
        try await withThrowingTaskGroup { group in
            for guesser in self { group.addTask { try await body(guesser) } }
            try await group.waitForAll()
        }
    }
}

extension Refusal.Reason? {
    /// Whether the server could not judge the PIN.
    var isUnavailable: Bool { if case .unavailable = self { true } else { false } }
}
