import Foundation
import HostSystem
import TestSupport
import Testing

@Suite("The clock of servers that share a PostgreSQL database, with the real programs")
struct DatabaseClockTests {
    /// Gives each lease a time that is almost two seconds ahead.
    private static let ahead = """
        create function public.ahead() returns trigger language plpgsql as $$ begin
            new.renewed_at := (extract(epoch from clock_timestamp()) * 1000)::bigint + 1900;
            return new;
        end $$;
        create trigger ahead before insert or update on remote_pin.leases for each row execute function public.ahead();
        """

    @Test("outside a lab, the audit log uses the time that all servers share, not its machine's clock")
    func auditLog() async throws {
        let (database, production) = (try DatabaseUnderTest(), try await ProductionUnderTest())
        let flags = try database.flags(of: "a", folder: production.folder).flatMap { ["--\($0.key)", $0.value] }
        try production.giveToOwner()
        let made = try await production.run("store init", flags)
        try #require(made.exitCode == 0, "\(made.output)")
        // A server begins with the time of the newest lease, so this server's time is ahead of the machine's for two
        // seconds.
        try await database.run(Self.ahead)
        let server = try await production.start(flags)
        let log = String(decoding: try DurableFile.read(production.auditFile, atMost: 1 << 20), as: UTF8.self)
        let written = Date(
            timeIntervalSince1970: Double(try DurableFile.changeTime(of: production.auditFile)) / 1_000_000_000
        )
        let newest = try JSONValue(String(try log.split(separator: "\n").last.orThrow()))["time"]?.string ?? ""
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        // The system takes a file's time from a clock that lags by a few milliseconds.
        #expect(try format.parse(newest) > written + 0.1, "\(newest), written at \(written)")
        #expect(await server.terminate() == 0)
    }
}
