import TestSupport
import Testing
import Vocabulary
import WalletStore

@Suite("Parallel guesses")
struct GuessingTests {
    @Test(
        "one round of parallel guesses is judged; with the clock moved past each block, rounds × attempts in all",
        arguments: [(StoreKind.sqlite, 2000), (.postgreSQL, 12), (.dictionary, 2000)]
    )
    func burst(kind: StoreKind, count: Int) async throws {
        let place = try await kind.place()
        let wallet = try await TestWallet(in: place.open())
        var now = TestWallet.start
        for wait in [60, 300, 3600] {
            let verdicts = try await self.guess(count, at: wallet, policy: .standard, now: now)
            #expect(verdicts.judged == 4)
            #expect(verdicts.blocked == count - 4)
            now = now + .seconds(wait)
        }
        let last = try await self.guess(count, at: wallet, policy: .standard, now: now)
        #expect(last.judged == 4)
        #expect(last.blockedPermanently == count - 4)
        let after = try await self.guess(count, at: wallet, policy: .standard, now: now + .seconds(1_000_000))
        #expect(after.blockedPermanently == count)
    }

    @Test(
        "with blocks of zero length, one burst is judged exactly rounds × attempts times",
        arguments: [(StoreKind.sqlite, 2000), (.postgreSQL, 24), (.dictionary, 2000)]
    )
    func zeroBlocks(kind: StoreKind, count: Int) async throws {
        let place = try await kind.place()
        let policy = try #require(AttemptPolicy(rounds: 4, attemptsPerRound: 4, blocks: []))
        let wallet = try await TestWallet(in: place.open())
        let verdicts = try await self.guess(count, at: wallet, policy: policy, now: TestWallet.start)
        #expect(verdicts.judged == 16)
        #expect(verdicts.blockedPermanently == count - 16)
    }

    @Test(
        "a right PIN among 16 parallel guesses is accepted at most once in four",
        arguments: [StoreKind.sqlite, .dictionary]
    )
    func oneRight(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        var entered = 0
        for _ in 0..<200 {
            let wallet = try await TestWallet(in: store)
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
            case .notValid(.wrong, _): self.judged += 1
            case .notValid(.blocked, _): self.blocked += 1
            case .notValid(.blockedPermanently, _): self.blockedPermanently += 1
            case .notValid(.valid, _), .revoked, .pinKeyChanged, .identityChanged: Issue.record("\(outcome)")
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
                group.addTask { try await wallet.store.outcome(of: attempt) }
            }
            var verdicts = Verdicts()
            for try await outcome in group { verdicts.add(outcome) }
            return verdicts
        }
    }
}
