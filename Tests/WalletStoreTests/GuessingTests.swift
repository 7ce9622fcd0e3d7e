import TestSupport
import Testing
import Vocabulary
import WalletStore

@Suite("Parallel guesses")
struct GuessingTests {
    private let folder: TemporaryFolder
    private let store: SQLiteWalletStore

    init() throws {
        self.folder = TemporaryFolder()
        self.store = try self.folder.store()
    }

    @Test(
        "one round of 2000 parallel guesses is judged; with the clock moved past each block, rounds × attempts in all"
    )
    func burst() async throws {
        let wallet = try await TestWallet(in: self.store)
        var now = TestWallet.start
        for wait in [60, 300, 3600] {
            let verdicts = try await self.guess(2000, at: wallet, policy: .standard, now: now)
            #expect(verdicts.judged == 4)
            #expect(verdicts.blocked == 1996)
            now = now + .seconds(wait)
        }
        let last = try await self.guess(2000, at: wallet, policy: .standard, now: now)
        #expect(last.judged == 4)
        #expect(last.blockedPermanently == 1996)
        let after = try await self.guess(100, at: wallet, policy: .standard, now: now + .seconds(1_000_000))
        #expect(after.blockedPermanently == 100)
    }

    @Test("with blocks of zero length, one burst is judged exactly rounds × attempts times")
    func zeroBlocks() async throws {
        let policy = try #require(AttemptPolicy(rounds: 4, attemptsPerRound: 4, blocks: [.zero, .zero, .zero]))
        let wallet = try await TestWallet(in: self.store)
        let verdicts = try await self.guess(2000, at: wallet, policy: policy, now: TestWallet.start)
        #expect(verdicts.judged == 16)
        #expect(verdicts.blockedPermanently == 1984)
    }

    @Test("a right PIN among 16 parallel guesses is accepted at most once in four")
    func oneRight() async throws {
        var entered = 0
        for _ in 0..<200 {
            let wallet = try await TestWallet(in: self.store)
            let place = Int.random(in: 0..<16)
            let verdicts = try await self.guess(16, at: wallet, policy: .standard, now: TestWallet.start) {
                $0 == place
            }
            #expect(verdicts.valid <= 1)
            #expect(verdicts.judged <= 4 + 4 * verdicts.valid)
            entered += verdicts.valid
        }
        // The expected number is 50; the bound is five standard deviations above it.
        #expect(entered <= 81, "about 100 enter if the limit is not atomic")
    }

    private struct Verdicts: Sendable {
        var judged = 0
        var valid = 0
        var blocked = 0
        var blockedPermanently = 0

        mutating func add(_ outcome: AttemptOutcome) {
            switch outcome {
            case .valid:
                self.valid += 1
                self.judged += 1
            case .notValid(.wrong): self.judged += 1
            case .notValid(.blocked): self.blocked += 1
            case .notValid(.blockedPermanently): self.blockedPermanently += 1
            case .notValid(.valid), .revoked, .pinKeyChanged, .identityChanged: Issue.record("\(outcome)")
            }
        }
    }

    private func guess(
        _ count: Int,
        at wallet: TestWallet,
        policy: AttemptPolicy,
        now: Timestamp,
        isRight: (Int) -> Bool = { _ in false }
    ) async throws -> Verdicts {
        try await withThrowingTaskGroup(of: AttemptOutcome.self) { group in
            for index in 0..<count {
                let attempt = try wallet.attempt(right: isRight(index), policy: policy, now: now)
                group.addTask { try await wallet.store.judge(attempt) }
            }
            var verdicts = Verdicts()
            for try await outcome in group { verdicts.add(outcome) }
            return verdicts
        }
    }
}
