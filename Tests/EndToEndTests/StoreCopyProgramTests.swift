import Foundation
import LabFiles
import Secrets
import TestSupport
import Testing
import Vocabulary
import Wire

@Suite("A store that moves into a PostgreSQL database, with the real programs")
struct StoreCopyProgramTests {
    private static let pin = "135790"
    private static let wrong = "864209"

    private let database: DatabaseUnderTest
    private let lab: LabUnderTest

    init() async throws {
        self.database = try DatabaseUnderTest()
        self.lab = try await LabUnderTest()
    }

    /// The flags for the lab's server in the database.
    private func flags() throws -> [String] {
        try self.database.flags(of: "pin1", folder: self.lab.folder).flatMap { ["--\($0.key)", $0.value] }
    }

    private func store(_ arguments: String...) async throws -> ProgramRun {
        let all = ["store"] + arguments + [self.lab.lab.path] + (try self.flags())
        return try await ServerProcess.run("remote-pin-server", all)
    }

    /// Serves the embedded store, or the database.
    private func start(inDatabase: Bool = false) async throws -> ServerProcess {
        var environment = LabUnderTest.sixteenAttempts
        if inDatabase {
            environment.merge(try self.database.settings(of: "pin1", folder: self.lab.folder)) { $1 }
        }
        return try await self.lab.start(environment)
    }

    private func count(of session: TestSession, pin: String) async throws -> Int {
        guard case .instruct(.wrong(let state)) = try await session.instruct(pin: pin) else { return -1 }
        return GuessingWallet.counted(state)
    }

    @Test("a database that awaits a copy stays empty when a server is started, which names the copy")
    func awaitsCopy() async throws {
        let server = try await self.start()
        _ = try await self.lab.register(pin: Self.pin)
        #expect(await server.terminate() == 0)
        #expect(try await self.store("init").exitCode == 0)
        #expect(try await self.store("status").output.contains("no server has used it"))
        for _ in 0..<2 {
            let early = try await ServerProcess.run("remote-pin-server", ["serve", self.lab.lab.path] + self.flags())
            #expect(early.exitCode == 69 && early.output.contains("awaits a copy"), "\(early.output)")
        }
        let copied = try await self.store("copy")
        #expect(copied.exitCode == 0, "\(copied.output)")
        #expect(await (try self.start(inDatabase: true)).terminate() == 0)
    }

    @Test("a killed copy continues; its wallets keep their counts, and the embedded store is not served again")
    func moves() async throws {
        var server = try await self.start()
        let wallet = try await self.lab.register(pin: Self.pin)
        #expect(await server.terminate() == 0)
        let older = "\(self.lab.folder)/older"
        try FileManager.default.copyItem(atPath: self.lab.lab.dataFolder, toPath: older)
        server = try await self.start()
        for _ in 0..<2 { _ = try await self.count(of: try await wallet.openSession(), pin: Self.wrong) }
        #expect(try await self.store("init").exitCode == 0)
        let served = try await self.store("copy")
        #expect(served.exitCode == 69 && served.output.contains("in use by process"), "\(served.output)")
        #expect(await server.terminate() == 0)

        let old = try await self.store("copy", "--from", older)
        #expect(old.exitCode == 79 && old.output.contains("is an older copy"), "\(old.output)")

        try await self.killOneCopy()
        let early = try await ServerProcess.run("remote-pin-server", ["serve", self.lab.lab.path] + self.flags())
        #expect(early.exitCode == 69 && early.output.contains("store copy` until it is done"), "\(early.output)")

        let copied = try await self.store("copy", "--json")
        #expect(copied.exitCode == 0, "\(copied.output)")
        let line = try #require(copied.output.split(separator: "\n").last { $0.hasPrefix("{") })
        #expect(try JSONValue(String(line))["wallets"] == .integer(1))
        let again = try await self.store("copy")
        #expect(again.exitCode == 0 && again.output.contains("was finished before"), "\(again.output)")
        let embedded = try await ServerProcess.run("remote-pin-server", ["serve", self.lab.lab.path])
        #expect(embedded.exitCode == 79 && embedded.output.contains("copied into a PostgreSQL"), "\(embedded.output)")
        let audit = try await ServerProcess.run(
            "remote-pin-server",
            ["admin", "audit", "show", "--json", "--lab", self.lab.lab.path]
        )
        #expect(audit.output.components(separatedBy: #""store copy""#).count == 2, "one entry: \(audit.output)")

        server = try await self.start(inDatabase: true)
        let session = try await wallet.openSession()
        #expect(session.pinState.map(GuessingWallet.counted) == 2)
        #expect(try await self.count(of: session, pin: Self.wrong) == 3)
        #expect(
            VerdictSummary(try await session.instruct(pin: Self.pin))
                == .valid(share: wallet.unlockShare.exposedBytes().hex)
        )
        #expect(await server.terminate() == 0)
    }

    /// Kills a copy while it waits for a lock on the wallets.
    private func killOneCopy() async throws {
        async let locked = self.database.run(
            "begin",
            "lock table remote_pin.wallet_values in share mode",
            """
            do $$ begin
                while not exists (select from pg_class where relname = 'released') loop
                    perform pg_sleep(0.01);
                end loop;
            end $$
            """,
            "commit"
        )
        try await self.database.waits("pg_locks where mode = 'ShareLock' and granted")
        let copy = try await ServerProcess.start(
            ["store", "copy", self.lab.lab.path] + (try self.flags()),
            until: "audit log"
        )
        try await self.database.waits("pg_locks where not granted")
        await copy.kill()
        try await self.database.run("create table public.released ()")
        try await locked
    }
}

extension DatabaseUnderTest {
    /// Returns once rows exist.
    fileprivate func waits(_ rows: String) async throws {
        try await self.run(
            """
            do $$ begin
                while not exists (select from \(rows)) loop perform pg_sleep(0.01); end loop;
            end $$
            """
        )
    }
}
