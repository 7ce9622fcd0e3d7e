import Foundation
import HostSystem
import Lab
import TestSupport
import Testing

@Suite("The clock of servers that share a PostgreSQL database, with the real programs")
struct DatabaseClockTests {
    private static let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    @Test("outside a lab, the audit log uses the time that all servers share, not its machine's clock")
    func auditLog() async throws {
        let (database, production) = (try DatabaseUnderTest(), try await ProductionUnderTest())
        let flags = try await self.makeStore(in: database, for: production)
        // With a larger difference, the server would not start.
        try await self.moveClock(of: database, by: 900)
        let server = try await production.start(flags)
        let log = String(decoding: try DurableFile.read(production.auditFile, atMost: 1 << 20), as: UTF8.self)
        let written = Date(
            timeIntervalSince1970: Double(try DurableFile.changeTime(of: production.auditFile)) / 1_000_000_000
        )
        let newest = try JSONValue(String(try log.split(separator: "\n").last.orThrow()))["time"]?.string ?? ""
        // The system takes a file's time from a clock that lags by a few milliseconds.
        #expect(try Self.format.parse(newest) > written + 0.1, "\(newest), written at \(written)")
        #expect(await server.terminate() == 0)
    }

    @Test("outside a lab, a server judges by the database's clock, not by its machine's")
    func judging() async throws {
        let (database, production) = (try DatabaseUnderTest(), try await ProductionUnderTest())
        let flags = try await self.makeStore(in: database, for: production)
        // With a larger difference, the server would not start.
        try await self.moveClock(of: database, by: 900)
        let server = try await production.start(flags)
        let socket = "\(production.folder)/admin.sock"
        let run = try await ServerProcess.run("remote-pin-server", ["admin", "status", "--json", "--socket", socket])
        let status = try JSONValue(run.output)
        let judging = try Self.format.parse(status["now"]?.string ?? "")
        let started = try Self.format.parse(status["startedAt"]?.string ?? "")
        guard case .integer(let uptime)? = status["uptimeMs"] else { throw UnexpectedAnswer() }
        // The reply has the machine's time, too. It is read later, so it is not behind if both clocks are the same.
        #expect(judging > started + Double(uptime) / 1_000, "\(run.output)")
        #expect(await server.terminate() == 0)
    }

    @Test("a server whose machine's clock differs from the database's does not start", arguments: [-3_600, 3_600])
    func difference(seconds: Int) async throws {
        let (database, production) = (try DatabaseUnderTest(), try await ProductionUnderTest())
        let flags = try await self.makeStore(in: database, for: production)
        try await self.moveClock(of: database, by: seconds * 1_000)
        await #expect {
            _ = try await production.start(flags)
        } throws: { error in
            let output = (error as? ServerProcess.NotReady)?.output
            return output?.contains("the clocks of this machine and of the database differ by") == true
        }
    }

    /// Makes the store of a server, and returns the server's flags.
    private func makeStore(in database: DatabaseUnderTest, for production: ProductionUnderTest) async throws -> [String]
    {
        let flags = try database.flags(of: "a", folder: production.folder).flatMap { ["--\($0.key)", $0.value] }
        try production.giveToOwner()
        let made = try await production.run("store init", flags)
        try #require(made.exitCode == 0, "\(made.output)")
        return flags
    }

    /// Moves the clock of a database by some milliseconds.
    private func moveClock(of database: DatabaseUnderTest, by milliseconds: Int) async throws {
        try await database.run(
            "alter function pg_catalog.clock_timestamp() rename to clock_of_machine",
            """
            create function pg_catalog.clock_timestamp() returns timestamptz language sql volatile
                as $$ select pg_catalog.clock_of_machine() + interval '\(milliseconds) ms' $$
            """
        )
    }
}
