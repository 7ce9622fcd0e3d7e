import Synchronization
import ServerTestSupport
import TestSupport
import Testing
import Transport
import Vocabulary
import Wire

@testable import RemotePINServer

@Suite("Bursts of guesses")
struct BurstTests {
    /// Sends `count` guesses for one wallet over all sessions at once, pipelined on each, and counts the answers.
    private func burst(_ count: Int, over sessions: [TestSession]) async throws -> [Answer: Int] {
        try await withThrowingTaskGroup(of: [Answer].self) { group in
            for session in sessions {
                group.addTask {
                    var answers: [Answer] = []
                    for guess in 0..<(count / sessions.count) {
                        answers.append(try await session.check(guess.isMultiple(of: 2) ? "000000" : "999999"))
                    }
                    return answers
                }
            }
            var counts: [Answer: Int] = [:]
            for try await answers in group { for answer in answers { counts[answer, default: 0] += 1 } }
            return counts
        }
    }

    private func sessions(_ count: Int, of wallet: TestWallet) async throws -> [TestSession] {
        var sessions: [TestSession] = []
        for _ in 0..<count { sessions.append(try await wallet.openSession()) }
        return sessions
    }

    @Test("of two thousand parallel guesses over 64 connections exactly one round is judged, block after block")
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
            judged += answers.filter { $0.key.isWrong }.values.reduce(0, +)
            #expect(judged == AttemptPolicy.standard.allowance)
            #expect(answers[.blockedPermanently] == 2048 - 4)
            #expect(answers[.wrong(.blockedPermanently)] == 1)
        }
    }

    @Test("with blocks of no length one burst is judged rounds × attempts times and no more")
    func withoutBlocks() async throws {
        var options = InProcessServer.Options()
        let blocks = [Duration](repeating: .zero, count: 3)
        options.rules.attempts = try AttemptPolicy(rounds: 4, attemptsPerRound: 4, blocks: blocks).orThrow()
        try await InProcessServer.run(options) { server in
            let wallet = try await server.wallet()
            let answers = try await self.burst(2048, over: self.sessions(64, of: wallet))
            #expect(answers.filter { $0.key.isWrong }.values.reduce(0, +) == 16)
            #expect(answers[.blockedPermanently] == 2048 - 16)
        }
    }

    @Test("one wallet's guesses over 32 connections have the store one at a time, whatever is sent in parallel")
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

    @Test("whoever waits for a wallet's turn gets it in the order in which they came, and nobody is left waiting")
    func turns() async {
        let lane = InstructionLane()
        let (order, turns) = AsyncStream.makeStream(of: Int.self)
        await lane.enter()
        await withDiscardingTaskGroup { group in
            for number in 0..<50 {
                let isWaiting = lane.waitingCount
                group.addTask {
                    await lane.enter()
                    turns.yield(number)
                    lane.leave()
                }
                // Each in its place before the next one comes.
                while lane.waitingCount == isWaiting { await Task.yield() }
            }
            lane.leave()
        }
        turns.finish()
        #expect(await order.reduce(into: []) { $0.append($1) } == Array(0..<50))
        await lane.enter()
        lane.leave()
    }
}
