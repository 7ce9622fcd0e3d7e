import Foundation
import HostSystem
import TestSupport
import Testing
import Vocabulary

@testable import LoadEngine

@Suite("App Attest counters of a fleet")
struct CounterTests {
    private let folder = TemporaryFolder()

    @Test("a process killed at any moment never leaves a counter to be used again")
    func killed() async throws {
        let seed = UInt64.random(in: 0..<1_000_000)
        print("seed of the counters' crash test: \(seed)")
        do { _ = try FleetOfTests.make(in: self.folder, wallets: 4, registered: 0..<4, platform: .iOS) }
        var generator = SeededGenerator(seed: seed)
        var used: [Int: UInt32] = [:]
        for round in 0..<6 {
            let path = self.folder.path
            let proofs = Int.random(in: 1..<200, using: &generator)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = path as String, proofs = proofs as Int] in
                try CounterTests.proveUntilKilled(in: path, proofs)
            }
            let text = try String(contentsOfFile: "\(path)/used", encoding: .utf8)
            for line in text.split(separator: "\n") {
                let parts = line.split(separator: " ").compactMap { UInt32($0) }
                try #require(parts.count == 2)
                let (index, counter) = (Int(parts[0]), parts[1])
                #expect(counter > used[index] ?? 1, "seed \(seed), round \(round), wallet \(index)")
                used[index] = counter
            }
            try FileManager.default.removeItem(atPath: "\(path)/used")
        }
        #expect(used.count == 4)
    }

    /// Takes counters and writes each of them down, as a proof that was sent would.
    private static func proveUntilKilled(in folder: String, _ proofs: Int) throws {
        let fleet = try Fleet.open("\(folder)/wallets", for: FleetOfTests.fingerprint)
        for number in 0..<(proofs + 4) {
            let index = number % 4
            let counter = try fleet.takeCounter(of: fleet[index])
            try DurableFile.append(Array("\(index) \(counter)\n".utf8), to: "\(folder)/used")
        }
        kill(getpid(), SIGKILL)
    }

    @Test("a machine that crashes and loses every write since the last flush leaves no counter to be used again")
    func machineCrashes() throws {
        do { _ = try FleetOfTests.make(in: self.folder, wallets: 1, registered: [0], platform: .iOS) }
        var highest: UInt32 = 1
        for round in 0..<4 {
            let fleet = try FleetOfTests.open(in: self.folder)
            #expect(fleet.mayBeBehind == (round > 0))
            let flushed = try FleetOfTests.bytes(in: self.folder)
            let copy = self.folder.file("wallets")
            for _ in 0..<100 {
                let counter = try fleet.takeCounter(of: fleet[0])
                #expect(counter > highest, "round \(round)")
                highest = counter
            }
            // Not closed: later writes of this process go to a file without a name.
            try DurableFile.write(flushed, to: copy)
            withExtendedLifetime(fleet) {}
        }
    }

    @Test("a counter at its maximum is refused and never starts again")
    func spent() throws {
        let folder = TemporaryFolder()
        let fleet = try FleetOfTests.make(in: folder, wallets: 1, registered: [], platform: .iOS)
        let new = FleetOfTests.wallet(.iOS)
        try fleet.keep(
            NewWallet(
                walletID: new.walletID,
                platform: .iOS,
                shareCheck: new.shareCheck,
                counter: .max - 1,
                generation: 0
            ),
            in: 0
        )
        let wallet = FleetWallet(index: 0, slot: 0, record: try fleet.record(in: 0), keys: fleet.keys)
        #expect(try fleet.takeCounter(of: wallet) == .max)
        #expect(throws: FleetFailure.fleet(.countersSpent(path: folder.file("wallets")))) {
            try fleet.takeCounter(of: wallet)
        }
    }
}
