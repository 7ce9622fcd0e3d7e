import Synchronization
import ServerTestSupport
import TestSupport
import Testing
import Transport
import Vocabulary

@testable import RemotePINServer

@Suite("Bursts of guesses")
struct BurstTests {
    /// Sends `count` guesses for one wallet over all sessions at once, pipelined on each, and
    /// returns the number of each answer.
    private func burst(_ count: Int, over sessions: [TestSession]) async throws -> [VerdictSummary: Int] {
        try await withThrowingTaskGroup(of: [VerdictSummary].self) { group in
            for session in sessions {
                group.addTask {
                    var answers: [VerdictSummary] = []
                    for guess in 0..<(count / sessions.count) {
                        answers.append(try await session.check(guess.isMultiple(of: 2) ? "000000" : "999999"))
                    }
                    return answers
                }
            }
            var counts: [VerdictSummary: Int] = [:]
            for try await answers in group { for answer in answers { counts[answer, default: 0] += 1 } }
            return counts
        }
    }

    private func sessions(_ count: Int, of wallet: TestWallet) async throws -> [TestSession] {
        var sessions: [TestSession] = []
        for _ in 0..<count { sessions.append(try await wallet.openSession()) }
        return sessions
    }

    @Test("of 2,000 parallel guesses over 64 connections exactly one round is judged, block after block")
    func rounds() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            var judged = 0
            for block in [Duration.seconds(60), .seconds(300), .seconds(3600)] {
                let sessions = try await self.sessions(64, of: wallet)
                let answers = try await self.burst(2048, over: sessions)
                let wrong = answers.filter { $0.key.isWrong }.values.reduce(0, +)
                #expect(wrong == 4)
                #expect(answers[.blocked(remaining: block)] == 2048 - 4)
                #expect(answers[.wrong(.blocked(remaining: block))] == 1)
                judged += wrong
                for session in sessions { session.connection.close() }
                server.clock.advance(by: block)
            }
            let answers = try await self.burst(2048, over: self.sessions(64, of: wallet))
            // The block closes the other connections, which may lose their answers.
            judged += answers.filter { $0.key.isWrong }.values.reduce(0, +)
            #expect(judged <= AttemptPolicy.standard.allowance)
            #expect(answers[.wrong(.blockedPermanently)] == 1)
            #expect(answers[.blockedPermanently, default: 0] < 2048 / 64)
        }
    }

    @Test("without blocks, exactly rounds × attempts guesses of one burst are judged")
    func withoutBlocks() async throws {
        var options = InProcessServer.Options()
        options.rules.attempts = try AttemptPolicy(rounds: 4, attemptsPerRound: 4, blocks: []).orThrow()
        try await InProcessServer.run(options) { server in
            let wallet = try await server.wallet()
            let answers = try await self.burst(2048, over: self.sessions(64, of: wallet))
            #expect(answers.filter { $0.key.isWrong }.values.reduce(0, +) <= 16)
            #expect(answers[.wrong(.blockedPermanently)] == 1)
            #expect(answers[.blockedPermanently, default: 0] < 2048 / 64)
        }
    }

    @Test("parallel guesses for one wallet over 32 connections reach the store one at a time")
    func oneAtATime() async throws {
        let inStore = Mutex<[WalletID: (now: Int, most: Int)]>([:])
        var options = InProcessServer.Options()
        options.wrapping = { store in
            GatedStore(
                store: store,
                gate: Gate(),
                judging: { wallet, isDone in
                    inStore.withLock { inStore in
                        var count = inStore[wallet] ?? (0, 0)
                        count.now += isDone ? -1 : 1
                        count.most = max(count.most, count.now)
                        inStore[wallet] = count
                    }
                }
            )
        }
        try await InProcessServer.run(options) { server in
            let (hammered, other) = (try await server.wallet(), try await server.wallet())
            let session = try await other.openSession()
            let sessions = try await self.sessions(32, of: hammered)
            async let answers = self.burst(640, over: sessions)
            for _ in 0..<20 { #expect(try await session.check("135790") == other.unlockShare.asValid) }
            #expect(try await answers.values.reduce(0, +) == 640)
            #expect(inStore.withLock { $0[hammered.walletID]?.most } == 1)
            #expect(inStore.withLock { $0[other.walletID]?.most } == 1)
        }
    }
}
