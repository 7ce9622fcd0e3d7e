import Glibc
import Lab
import LabFiles
import TestSupport
import Testing

/// G4 against an attacker who can fill the server's disk at any moment of a guess.
@Suite(
    "A server whose disk is full",
    .enabled(if: SmallDisk.isPermitted, "small file systems can only be mounted by root"),
    .serialized
)
struct DiskFullTests {
    @Test("right and wrong PINs get the same answer, nothing is judged or lost, and free space restores the service")
    func full() async throws {
        var random = SeededRandom(for: "disk full")
        let (lab, disk) = try await Self.labOnSmallDisk()
        let server = try await lab.start()
        let guessers = try await Self.guessers(in: lab, &random)
        for _ in 0..<5 {
            try await guessers.all { try await $0.openSession() }
            try await Self.fill(disk, under: guessers)
            // Concurrently in any order, then one after another.
            for guesser in guessers.shuffled(using: &random) {
                for right in [true, false].shuffled(using: &random) {
                    let refusal = try await guesser.guess(right: right)
                    #expect(refusal.isUnavailable, "right: \(right)")
                }
            }
            try await guessers.all { guesser in
                let refusal = try await guesser.guess()
                #expect(refusal.isUnavailable)
            }
            try disk.clear()
            try await guessers.all { guesser in
                for right in [false, true, false] {
                    let refusal = try await guesser.guess(right: right)
                    #expect(refusal == nil)
                }
            }
        }
        #expect(await server.terminate() == 0)
    }

    @Test("a server that is killed while its disk is full or filling has lost no attempt once there is space")
    func killed() async throws {
        var random = SeededRandom(for: "disk full and killed")
        let (lab, disk) = try await Self.labOnSmallDisk()
        var server = try await lab.start()
        let guessers = try await Self.guessers(in: lab, &random)
        for _ in 0..<15 {
            let victim = server
            try await guessers.all { try await $0.openSession() }
            let moment = EventTrigger(after: .random(in: 1...96, using: &random)) { victim.send(SIGKILL) }
            async let guesses: Void = guessers.all { try await $0.guessUntilGone(moment) }
            disk.fill()
            try await guesses
            await victim.kill()
            // A start on the full disk fails with a message or succeeds; neither loses anything.
            do {
                let early = try await lab.start()
                await early.kill()
            } catch let failure as ServerProcess.NotReady {
                #expect(failure.output.contains("disk is full"), "\(failure)")
            }
            try disk.clear()
            server = try await lab.start()
        }
        try await guessers.all { guesser in
            try await guesser.openSession()
            let refusal = try await guesser.guess(right: true)
            #expect(refusal == nil)
        }
        #expect(await server.terminate() == 0)
    }

    private static func labOnSmallDisk() async throws -> (LabUnderTest, SmallDisk) {
        let lab = try await LabUnderTest()
        return (lab, try SmallDisk(at: lab.lab.dataFolder))
    }

    private static func guessers(in lab: LabUnderTest, _ random: inout SeededRandom) async throws -> [GuessingWallet] {
        var guessers: [GuessingWallet] = []
        for _ in 0..<4 { guessers.append(try await GuessingWallet(in: lab, random: random.split())) }
        return guessers
    }

    /// Fills the disk during guesses, until neither the largest commit that four wallets can make nor the smallest
    /// fits.
    private static func fill(_ disk: SmallDisk, under guessers: [GuessingWallet]) async throws {
        var inARow = 0
        var rounds = 0
        while inARow < 8 {
            rounds += 1
            try #require(rounds < 500, "commits still fit on a full disk")
            disk.fill()
            var refused = 0
            for guesser in guessers {
                let refusal = try await guesser.guess(right: refused % 2 == 0)
                if refusal.isUnavailable { refused += 1 }
            }
            inARow = refused == guessers.count ? inARow + 1 : 0
        }
    }
}
