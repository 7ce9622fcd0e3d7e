import Glibc
import TestSupport
import Testing

/// G3 and G4 against an attacker who can end the server's process at any instruction.
@Suite("A server that is killed")
struct KillTests {
    private static let kills = 200

    @Test("after each of 200 kills every wrong verdict is still counted, and no right PIN is counted as wrong")
    func kills() async throws {
        var dice = Dice(for: "kills")
        let lab = try await LabUnderTest()
        var server = try await lab.start()
        let guessers = try await Self.guessers(in: lab, &dice)
        for _ in 0..<Self.kills {
            let victim = server
            if dice.isOne(in: 5) {
                // A kill directly after the start, while sessions are being opened.
                let moment = Moment(after: .random(in: 1...16, using: &dice)) { victim.send(SIGKILL) }
                try await guessers.all { try await $0.openSession(moment) }
            } else {
                try await guessers.all { try await $0.openSession() }
                try await guessers.all { if await $0.isBlocked { try await $0.renew() } }
                let moment = Moment(after: .random(in: 1...64, using: &dice)) { victim.send(SIGKILL) }
                try await guessers.all { try await $0.guessUntilGone(moment) }
            }
            await victim.kill()
            server = try await lab.start()
        }
        try await Self.settle(guessers)
        #expect(await server.terminate() == 0)
        var unanswered = 0
        for guesser in guessers { unanswered += await guesser.unanswered }
        #expect(unanswered > Self.kills, "the kills hit guesses that were under way")
    }

    @Test("a server that gets SIGTERM during guesses answers or drops each, loses none, and exits with status 0")
    func stops() async throws {
        var dice = Dice(for: "stops")
        let lab = try await LabUnderTest()
        var server = try await lab.start()
        let guessers = try await Self.guessers(in: lab, &dice)
        for signal in [SIGTERM, SIGINT, SIGTERM, SIGINT] {
            try await guessers.all { try await $0.openSession() }
            let stopped = server
            let moment = Moment(after: .random(in: 1...64, using: &dice)) { stopped.send(signal) }
            try await guessers.all { try await $0.guessUntilGone(moment) }
            #expect(await stopped.ended() == 0)
            server = try await lab.start()
        }
        try await Self.settle(guessers)
        #expect(await server.terminate() == 0)
    }

    /// Eight wallets, one of which never enters its PIN.
    private static func guessers(in lab: LabUnderTest, _ dice: inout Dice) async throws -> [Guesser] {
        var guessers: [Guesser] = []
        for number in 0..<8 {
            guessers.append(try await Guesser(in: lab, dice: dice.split(), isStubborn: number == 0))
        }
        return guessers
    }

    /// Checks that at the end the PIN opens each wallet that is not permanently blocked.
    private static func settle(_ guessers: [Guesser]) async throws {
        try await guessers.all { guesser in
            try await guesser.openSession()
            let refusal = try await guesser.guess(right: true)
            #expect(refusal == nil)
            let possible = await guesser.possible
            #expect(possible == [0] || possible == [Guesser.allowance])
        }
    }
}

extension Guesser {
    /// Registers again and opens a session.
    fileprivate func renew() async throws {
        try await self.registerAnew()
        try await self.openSession()
    }
}
