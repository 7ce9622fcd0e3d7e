import Foundation
import LabFiles
import TestSupport
import Testing

@Suite("The readiness of a server with a PostgreSQL database, with the real programs")
struct DatabaseReadinessTests {
    private let lab: LabUnderTest
    private let database: DatabaseUnderTest

    init() async throws {
        self.lab = try await LabUnderTest()
        self.database = try DatabaseUnderTest()
    }

    /// Locks the table of attempts until a file exists, for a minute at most.
    private func lock(until file: String) async throws {
        try await self.database.run(
            "begin",
            "lock table remote_pin.wallets in access exclusive mode",
            """
            do $$ begin
                for number in 1..1200 loop
                    exit when (pg_stat_file('\(file)', true)).size is not null;
                    perform pg_sleep(0.05);
                end loop;
            end $$
            """,
            "commit"
        )
    }

    @Test("a server is not ready while a lock delays PIN checks or commits are lost, and says why")
    func reasons() async throws {
        let settings = try self.database.settings(of: "a", folder: self.lab.folder)
        let short = ["REMOTE_PIN_STORE_TIME_LIMIT": "1s"]
        let environment = LabUnderTest.sixteenAttempts.merging(settings) { $1 }.merging(short) { $1 }
        let flags = try self.database.flags(of: "a", folder: self.lab.folder).flatMap { ["--\($0.key)", $0.value] }
        let made = try await ServerProcess.run("remote-pin-server", ["store", "init", self.lab.lab.path] + flags)
        try #require(made.exitCode == 0, "\(made.output)")
        let server = try await self.lab.start(environment)
        let observed = try ObservedServer(server)
        @Sendable func isReady() async -> Bool {
            (try? await observed.get("/readyz"))?.hasPrefix("HTTP/1.1 200 ") == true
        }
        @Sendable func waits(for reason: String) async -> Bool {
            let answer = (try? await observed.get("/readyz")) ?? ""
            return answer.hasPrefix("HTTP/1.1 503 ") && answer.contains(reason)
        }
        #expect(await eventually { await isReady() })

        let released = "\(self.database.folder)/released"
        async let holder: Void = self.lock(until: released)
        #expect(await eventually { await waits(for: "pg_blocking_pids") })
        try Data().write(to: URL(fileURLWithPath: released))
        try await holder
        #expect(await eventually { await isReady() })

        try await self.database.run("update remote_pin.facts set lost_commits = true")
        #expect(await eventually { await waits(for: "lacks commits") })
        #expect(await server.terminate() == 0)
        #expect(server.output.contains("not ready: "), "\(server.output)")
        #expect(!server.output.contains("were not read again"), "\(server.output)")
    }
}
