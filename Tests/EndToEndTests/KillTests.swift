import Glibc
import TestSupport
import Testing

/// G3 and G4 against an attacker who can end the server's process at any instruction.
@Suite("A server that is killed")
struct KillTests {
    private static let kills = 200

    @Test("after each of 200 kills every wrong verdict is still counted, and no right PIN is counted as wrong")
    func kills() async throws {
        var random = SeededRandom(for: "kills")
        let lab = try await LabUnderTest()
        var server = try await lab.start()
        let guessers = try await Self.guessers(in: lab, &random)
        for _ in 0..<Self.kills {
            let victim = server
            if random.isOne(in: 5) {
                // A kill directly after the start, while sessions are being opened.
                let moment = EventTrigger(after: .random(in: 1...16, using: &random)) { victim.send(SIGKILL) }
                try await guessers.all { try await $0.openSession(moment) }
            } else {
                try await guessers.all { try await $0.openSession() }
                try await guessers.all { if await $0.isBlocked { try await $0.renew() } }
                let moment = EventTrigger(after: .random(in: 1...64, using: &random)) { victim.send(SIGKILL) }
                try await guessers.all { try await $0.guessUntilGone(moment) }
            }
            await victim.kill()
            server = try await lab.start()
        }
        try await Self.settle(guessers)
        #expect(await server.terminate() == 0)
        var unanswered = 0
        for guesser in guessers { unanswered += await guesser.unanswered }
        #expect(unanswered > Self.kills, "the kills hit guesses that were in progress")
    }

    @Test("a server that gets SIGTERM during guesses answers or drops each, loses none, and exits with status 0")
    func stops() async throws {
        var random = SeededRandom(for: "stops")
        let lab = try await LabUnderTest()
        var server = try await lab.start()
        let guessers = try await Self.guessers(in: lab, &random)
        for signal in [SIGTERM, SIGINT, SIGTERM, SIGINT] {
            try await guessers.all { try await $0.openSession() }
            let stopped = server
            let moment = EventTrigger(after: .random(in: 1...64, using: &random)) { stopped.send(signal) }
            try await guessers.all { try await $0.guessUntilGone(moment) }
            #expect(await stopped.ended() == 0)
            server = try await lab.start()
        }
        try await Self.settle(guessers)
        #expect(await server.terminate() == 0)
    }

    /// Eight wallets, one of which never enters its PIN.
    private static func guessers(in lab: LabUnderTest, _ random: inout SeededRandom) async throws -> [GuessingWallet] {
        var guessers: [GuessingWallet] = []
        for number in 0..<8 {
            guessers.append(try await GuessingWallet(in: lab, random: random.split(), isStubborn: number == 0))
        }
        return guessers
    }

    /// Checks that at the end the PIN opens each wallet that is not permanently blocked.
    private static func settle(_ guessers: [GuessingWallet]) async throws {
        try await guessers.all { guesser in
            try await guesser.openSession()
            let refusal = try await guesser.guess(right: true)
            #expect(refusal == nil)
            let possible = await guesser.possible
            #expect(possible == [0] || possible == [GuessingWallet.allowance])
        }
    }
}

extension GuessingWallet {
    /// Registers again and opens a session.
    fileprivate func renew() async throws {
        try await self.registerAnew()
        try await self.openSession()
    }
}
