import Foundation
import LabFiles
import TestSupport
import Testing

/// G4 against an attacker who can fill the database's disk at any moment of a guess.
@Suite(
    "A PostgreSQL database whose disk is full",
    .enabled(if: SmallDisk.isPermitted, "small file systems can only be mounted by root")
)
struct FullDatabaseTests {
    private static let mostGuesses = 1000

    private let lab: LabUnderTest
    private let database: DatabaseUnderTest

    init() async throws {
        self.lab = try await LabUnderTest()
        self.database = try DatabaseUnderTest()
    }

    @Test("no PIN is judged, the log names the cure, and free space restores the service without a loss")
    func full() async throws {
        let settings = try self.database.settings(of: "a", folder: self.lab.folder)
        let environment = LabUnderTest.sixteenAttempts.merging(settings) { $1 }
        let flags = try self.database.flags(of: "a", folder: self.lab.folder).flatMap { ["--\($0.key)", $0.value] }
        let made = try await ServerProcess.run("remote-pin-server", ["store", "init", self.lab.lab.path] + flags)
        try #require(made.exitCode == 0, "\(made.output)")
        let disk = try await self.moveWallets()
        let server = try await self.lab.start(environment)
        let guesser = try await GuessingWallet(in: self.lab, random: SeededRandom(for: "full database"))
        try await guesser.openSession()

        let snapshot = "\(self.database.folder)/snapshot-is-over"
        async let holder: Void = self.holdSnapshot(until: snapshot)
        disk.fill()
        var isFull = false
        for number in 0..<Self.mostGuesses where !isFull {
            isFull = try await guesser.guess(right: number % 2 == 0).isUnavailable
        }
        #expect(isFull, "the disk held \(Self.mostGuesses) more versions of a row")
        for right in [true, false, true, false] {
            let refusal = try await guesser.guess(right: right)
            #expect(refusal.isUnavailable, "right: \(right)")
        }
        try disk.clear()
        for right in [false, false, true, false] {
            let refusal = try await guesser.guess(right: right)
            #expect(refusal == nil)
        }
        // Compares the count with the answers.
        try await guesser.openSession()
        try Data().write(to: URL(fileURLWithPath: snapshot))
        try await holder
        #expect(await server.terminate() == 0)
        #expect(server.output.contains("No space left on device"), "\(server.output)")
        #expect(server.output.contains("free space on the database's disk"), "\(server.output)")
    }

    /// Moves the rows that a PIN check changes to a small disk.
    private func moveWallets() async throws -> SmallDisk {
        let disk = try SmallDisk()
        // PostgreSQL runs as the owner of its folder if this process is root.
        let owner = try FileManager.default.attributesOfItem(atPath: "\(self.database.folder)/data")
        let identifiers = owner.filter { $0.key == .ownerAccountID || $0.key == .groupOwnerAccountID }
        try FileManager.default.setAttributes(identifiers, ofItemAtPath: disk.path)
        try await self.database.run(
            "create tablespace small location '\(disk.path)'",
            "alter table remote_pin.wallets set tablespace small"
        )
        return disk
    }

    /// Keeps PostgreSQL from reusing the space of old versions of rows until a file exists, for a minute at most.
    private func holdSnapshot(until file: String) async throws {
        try await self.database.run(
            "begin isolation level repeatable read",
            """
            do $$ begin
                for number in 1..1200 loop
                    exit when (pg_stat_file('\(file)', true)).size is not null;
                    perform pg_sleep(0.05);
                end loop;
            end $$
            """
        )
    }
}
