import Foundation
import HostSystem
import PINPolicy
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import WalletStore

@Suite("Crashes while wallets guess")
struct CrashTests {
    private static let wallets = 8
    private static let kills = 20

    /// Each killed process also rewrites all records, in the wide form or back in the first one.
    @Test("every answered attempt is counted, no allowance grows and no right PIN stays counted")
    func killed() async throws {
        let folder = TemporaryFolder()
        let seed = UInt64.random(in: 0..<1_000_000)
        print("seed of the store's crash test: \(seed)")
        try await Self.registerAll(in: folder.path)
        var told = [Int](repeating: 0, count: Self.wallets)
        for round in 0..<Self.kills {
            let path = folder.path
            let dieAfter = Int(seed) % 97 + (round * 61) % 230
            let roundSeed = seed &+ UInt64(round)
            let isWide = round.isMultiple(of: 2)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [
                    path = path as String, dieAfter = dieAfter as Int, roundSeed = roundSeed as UInt64,
                    isWide = isWide as Bool
                ] in
                let key = isWide ? RecordKey.wide : .reading
                try await CrashTests.guessUntilKilled(in: path, by: key, dieAfter: dieAfter, seed: roundSeed)
            }
            try Self.read(folder.path + "/answers", into: &told)
            let store = try folder.store(by: .reading)
            for index in 0..<Self.wallets {
                let failures = try await store.failures(of: try Self.walletID(index))
                // One attempt may have been in progress: wrong and counted, or right and acquitted, or neither.
                #expect(
                    [told[index], told[index] + 1, 0].contains(failures),
                    "seed \(seed), round \(round), wallet \(index)"
                )
                told[index] = failures
            }
            await store.close()
        }
        #expect(told.contains { $0 > 0 })
    }

    /// Each wallet's keys are derived from its number, so that the killed process and this one agree.
    private static func walletID(_ index: Int) throws -> WalletID {
        try #require(WalletID([UInt8](repeating: UInt8(index + 1), count: 16)))
    }

    private static func key(_ byte: Int) throws -> P256PublicKey {
        try #require(P256PublicKey([0x04] + [UInt8](repeating: UInt8(byte), count: 64)))
    }

    private static let identity = [UInt8](repeating: 7, count: 300)

    private static func keyID() throws -> PINKeyID {
        try #require(PINKeyID([UInt8](repeating: 9, count: 16)))
    }

    private static func registerAll(in folder: String) async throws {
        let store = try SQLiteWalletStore.open(folder: folder, key: .test, creating: true)
        for index in 0..<Self.wallets {
            let registration = NewRegistration(
                walletID: try Self.walletID(index),
                hardwareKeyDigest: try TestWallet.digest(),
                identity: Self.identity,
                pinKeyID: try Self.keyID(),
                unlockShare: TestWallet.bytes(80),
                presenceShare: TestWallet.bytes(80),
                deletionCode: nil,
                assertionCounter: nil,
                attested: "{}",
                now: TestWallet.start
            )
            #expect(try await store.register(registration) == .registered(receiptVersion: nil))
        }
        await store.close()
    }

    /// Each wallet guesses, mostly wrong; each answer is written to a file as soon as it is known.
    private static func guessUntilKilled(
        in folder: String,
        by key: RecordKey,
        dieAfter: Int,
        seed: UInt64
    ) async throws {
        let store = try SQLiteWalletStore.open(folder: folder, key: key)
        let answers = try FileHandle(forWritingTo: try Self.emptyFile(folder + "/answers"))
        let policy = try #require(AttemptPolicy(rounds: 16, attemptsPerRound: 16, blocks: []))
        let countdown = Countdown(from: dieAfter)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                var next: UInt64?
                repeat { next = try await store.checkRecords(after: next, limit: 1).next } while next != nil
            }
            for index in 0..<Self.wallets {
                group.addTask {
                    var random = SeededGenerator(seed: seed &+ UInt64(index) << 32)
                    while true {
                        countdown.tick()
                        let isRight = Int.random(in: 0..<20, using: &random) == 0
                        let outcome = try await store.outcome(of: Self.attempt(index, isRight: isRight, policy: policy))
                        if let line = Self.line(outcome, wallet: index) { try answers.write(contentsOf: line) }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private static func attempt(_ index: Int, isRight: Bool, policy: AttemptPolicy) throws -> Attempt {
        Attempt(
            walletID: try Self.walletID(index),
            attemptID: .random(),
            namedKeyID: try Self.keyID(),
            identity: Self.identity,
            pinKey: try Self.key(1),
            candidate: try Self.key(isRight ? 1 : 2),
            effect: .releaseShare,
            policy: policy,
            now: TestWallet.start
        )
    }

    /// Adds the answers that the killed process received: wrong ones since the last right one.
    private static func read(_ path: String, into told: inout [Int]) throws {
        // Foundation leaks a buffer for each empty file.
        let text = String(decoding: try DurableFile.read(path, atMost: 1 << 20), as: UTF8.self)
        for line in text.split(separator: "\n") {
            let index = try #require(Int(line.dropFirst()))
            told[index] = line.first == "w" ? told[index] + 1 : 0
        }
    }

    private static func emptyFile(_ path: String) throws -> URL {
        let url = URL(fileURLWithPath: path)
        try Data().write(to: url)
        return url
    }

    private static func line(_ outcome: AttemptOutcome, wallet: Int) -> Data? {
        switch outcome {
        case .notValid(.wrong, _): return Data("w\(wallet)\n".utf8)
        case .valid: return Data("v\(wallet)\n".utf8)
        default: return nil
        }
    }
}

/// Kills this process after a number of calls.
private final class Countdown: Sendable {
    private let left: Atomic<Int>

    init(from calls: Int) {
        self.left = Atomic(calls)
    }

    func tick() {
        if self.left.subtract(1, ordering: .relaxed).newValue <= 0 { kill(getpid(), SIGKILL) }
    }
}

extension SQLiteWalletStore {
    /// The counted wrong PINs of a wallet.
    fileprivate func failures(of wallet: WalletID) async throws -> Int {
        try await self.queue.perform { try $0.attempted(wallet)?.wallet.attempts?.record.failures ?? -1 }
    }
}
