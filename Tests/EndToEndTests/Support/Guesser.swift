import Secrets
import TestSupport
import Testing
import Transport
import Vocabulary
import Wire

/// A wallet that guesses, and knows what may be counted against it by what it saw.
///
/// `possible` holds every number of failed attempts that the server may have on file: exactly one after an answer; an
/// unanswered wrong PIN may be counted or not; an unanswered right one may have ended the count, and never adds to it.
actor Guesser {
    /// Attempts that the server was told to allow.
    static let allowance = 16

    private static let pin = "024791"

    private(set) var wallet: TestWallet
    private(set) var possible: Set<Int> = [0]
    /// Calls that the server's end left without an answer.
    private(set) var unanswered = 0
    private var dice: Dice
    private let lab: LabUnderTest
    /// Never enters the right PIN, so that it comes to the end of its attempts.
    private let isStubborn: Bool
    private var session: TestSession?

    init(in lab: LabUnderTest, dice: Dice, isStubborn: Bool = false) async throws {
        self.lab = lab
        self.dice = dice
        self.isStubborn = isStubborn
        self.wallet = try await lab.register(pin: Self.pin)
    }

    /// Opens a session and holds what the server says against what may be.
    func openSession() async throws {
        try self.take(try await self.wallet.openSession())
    }

    /// The same while the server may go at any moment; reports the beginning and the end.
    func openSession(_ moment: Moment) async throws {
        moment.passes()
        guard let session = try await self.unlessGone({ try await self.wallet.openSession() }) else { return }
        moment.passes()
        try self.take(session)
    }

    private func take(_ session: TestSession) throws {
        let counted = Self.counted(try #require(session.pinState))
        #expect(self.possible.contains(counted), "seed \(self.dice.seed): \(counted) of \(self.possible) are counted")
        self.possible = [counted]
        self.session = session
    }

    /// Guesses until the server is gone; reports each call when it is sent and when it is answered.
    func guessUntilGone(_ moment: Moment) async throws {
        let session = try self.session.orThrow()
        while let answer = try await self.guess(self.next(), in: session, moment) { self.learn(answer) }
    }

    /// One guess, right or wrong by chance.
    func guess() async throws -> Refusal.Reason? {
        try await self.guess(right: self.dice.isOne(in: 2))
    }

    /// One guess in the present session, and what it taught; the refusal where it was refused, nil where it was judged.
    func guess(right: Bool) async throws -> Refusal.Reason? {
        let session = try self.session.orThrow()
        let answer = try await self.guess(right, in: session, nil).orThrow()
        return self.learn(answer)
    }

    /// Whether the server has any attempt of it left, as far as this wallet knows.
    var isBlocked: Bool { self.possible == [Self.allowance] }

    /// A new wallet takes the place of one that is blocked for good.
    func registerAnew() async throws {
        self.wallet = try await self.lab.register(pin: Self.pin)
        self.possible = [0]
        self.session = nil
    }

    private typealias Answered = (right: Bool, result: CallResult)

    private func guess(_ right: Bool, in session: TestSession, _ moment: Moment?) async throws -> Answered? {
        let wrong = String(Int.random(in: 100_000...999_999, using: &self.dice))
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

    /// The right PIN now and then, and always before the attempts may be at their end.
    private func next() -> Bool {
        if self.isStubborn { return false }
        return (self.possible.max() ?? 0) >= Self.allowance - 3 || self.dice.isOne(in: 5)
    }

    @discardableResult
    private func learn(_ answer: Answered) -> Refusal.Reason? {
        switch answer.result.withoutReceipt {
        case .instruct(.pinValid(let share)):
            #expect(answer.right && share.isEqual(to: self.wallet.unlockShare))
            #expect(self.possible != [Self.allowance], "a wallet that is blocked for good was let in")
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
            Issue.record("an answer that no guess can have: \(other)")
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

    private static func counted(_ state: PINState) -> Int {
        switch state {
        case .open(let attemptsLeft, finalRound: true): return Self.allowance - attemptsLeft
        case .blockedPermanently: return Self.allowance
        case .open, .blocked:
            Issue.record("one round has neither blocks nor others behind it: \(state)")
            return -1
        }
    }
}

extension Sequence where Element == Guesser {
    /// Has all of them do something at the same time.
    func all(_ body: @escaping @Sendable (Guesser) async throws -> Void) async throws {
        try await withThrowingTaskGroup { group in
            for guesser in self { group.addTask { try await body(guesser) } }
            try await group.waitForAll()
        }
    }
}
