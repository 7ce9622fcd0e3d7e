import Foundation
import HostSystem
import Lab
import LabFiles
import TestSupport
import Testing
import Transport
import Vocabulary
import Wire

@Suite("Watching a server, with the real programs")
struct ObservationProgramTests {
    private let lab: LabUnderTest
    private static let loud = [
        "REMOTE_PIN_LOG_FILE": "none", "REMOTE_PIN_LOG_LEVEL": "debug", "REMOTE_PIN_LOG_FORMAT": "json",
    ]

    init() async throws {
        self.lab = try await LabUnderTest()
    }

    @Test("promtool accepts the scrape of a used server, and the metrics count its work")
    func scrape() async throws {
        let server = try await self.lab.start(Self.loud)
        let observed = try ObservedServer(server)
        let wallet = try await self.lab.register(pin: "135790")
        let session = try await wallet.openSession()
        #expect(try await session.check("135790") == wallet.unlockShare.asValid)
        _ = try await session.check("000000")
        let metrics = try await observed.metrics()
        for line in [
            "remote_pin_calls_total{call=\"instruct\",outcome=\"done\"} 2", "remote_pin_ready 1",
            "remote_pin_pin_verdicts_total{verdict=\"wrong\"} 1", "remote_pin_sessions 1",
            "remote_pin_metrics_refused_total{reason=\"unknown\"} 0",
            "remote_pin_metrics_refused_total{reason=\"labels\"} 0",
        ] { #expect(metrics.contains("\n\(line)\n"), "\(line)") }
        // Every metric of the catalog is present, except those of other programs and those without a first time.
        let absent: Set<Substring> = [
            "remote_pin_backup_timestamp_seconds", "remote_pin_audit_verified_timestamp_seconds",
            "remote_pin_vault_reachable",
            // Those of a store with several servers.
            "remote_pin_lease_age_seconds", "remote_pin_lease_held", "remote_pin_servers_live",
            "remote_pin_database_clock_difference_seconds", "remote_pin_revocation_acknowledgement_seconds",
            "remote_pin_store_transaction_seconds", "remote_pin_store_comparison_misses_total",
            "remote_pin_store_standbys", "remote_pin_store_local_durability", "remote_pin_store_refusals_total",
        ]
        let page = try await ServerProcess.run("remote-pin-server", ["metrics"]).output
        let names = page.split(separator: "\n").filter { !$0.hasPrefix(" ") }.map { $0.prefix { $0 != "{" } }
        try #require(names.count > 20)
        for name in names where !absent.contains(name) && !name.contains(/^remote_pin_(portal|keys)_/) {
            #expect(metrics.contains("# TYPE \(name) "), "\(name)")
        }

        try #require(
            DurableFile.exists("/usr/bin/promtool"),
            "promtool is missing: install the Debian package `prometheus` (make packages-test does)"
        )
        let file = "\(self.lab.folder)/metrics.txt"
        func check(_ text: String) async throws -> ProgramRun {
            try DurableFile.write(Array(text.utf8), to: file)
            return try await ServerProcess.run("/bin/sh", ["-c", "exec promtool check metrics <\(file)"])
        }
        let run = try await check(metrics)
        #expect(run.exitCode == 0 && run.output.isEmpty, "\(run.output)")
        #expect(try await check(metrics + "bad_seconds_count{ 1\n").exitCode != 0)
        #expect(await server.terminate() == 0)
    }

    @Test(
        "process statistics are exported even if /proc shows nothing but processes",
        .enabled(if: SmallDisk.isPermitted)
    )
    func hiddenProc() async throws {
        // As systemd does for `ProcSubset=pid`.
        let script = "mount -t proc -o subset=pid proc /proc && exec \"$0\" serve \"$1\""
        let server = try await ServerProcess.start(
            ["--mount", "/bin/sh", "-c", script, Programs.path("remote-pin-server"), self.lab.lab.path],
            of: "/usr/bin/unshare",
            environment: Self.loud.merging(["REMOTE_PIN_OBSERVATION_LISTEN": "127.0.0.1:0"]) { $1 }
        )
        let metrics = try await ObservedServer(server).get("/metrics")
        for name in ["start_time_seconds", "cpu_seconds_total", "resident_memory_bytes", "threads"] {
            #expect(metrics.contains("\nprocess_\(name) "), "\(name)")
        }
        #expect(await server.terminate() == 0)
    }

    @Test("after SIGTERM readiness drops before connections end, while liveness still succeeds")
    func readinessDrops() async throws {
        let server = try await self.lab.start(Self.loud.merging(["REMOTE_PIN_DRAIN_DELAY": "5m"]) { $1 })
        let observed = try ObservedServer(server)
        let wallet = try await self.lab.register(pin: "135790")
        let session = try await wallet.openSession()
        #expect(try await observed.get("/readyz").hasPrefix("HTTP/1.1 200 "))
        server.send(SIGTERM)
        #expect(await server.writes("\"message\":\"stopping\""))
        let answer = try await observed.get("/readyz")
        #expect(answer.hasPrefix("HTTP/1.1 503 ") && answer.hasSuffix("stopping\n"), "\(answer)")
        #expect(try await observed.get("/livez").hasPrefix("HTTP/1.1 200 "))
        #expect(try await session.check("135790") == wallet.unlockShare.asValid)
        server.send(SIGTERM)
        #expect(await server.ended() == 128 + SIGTERM)
    }

    @Test("a server without the setting has no listener, and one whose address is in use says so and does not start")
    func addresses() async throws {
        let silent = try await self.lab.start(Self.loud.merging(["REMOTE_PIN_OBSERVATION_LISTEN": "none"]) { $1 })
        #expect(!silent.output.contains("observed"))
        #expect(await silent.terminate() == 0)
        let (server, other) = (try await self.lab.start(Self.loud), try await LabUnderTest())
        let port = try ObservedServer(server).port
        let taken = Self.loud.merging(["REMOTE_PIN_OBSERVATION_LISTEN": "127.0.0.1:\(port)"]) { $1 }
        await #expect {
            _ = try await other.start(taken)
        } throws: { error in
            (error as? ServerProcess.NotReady)?.output.contains("`observation.listen`") == true
        }
        #expect(await server.terminate() == 0)
    }

    @Test("the correlation id on a user's screen leads to the line in the log")
    func correlation() async throws {
        let server = try await self.lab.start(Self.loud)
        let session = try await self.lab.register(pin: "135790").openSession()
        let result = try await session.connection.call(.unknown, timeout: TestWallet.patience)
        guard case .refused(let refusal) = result else { throw UnexpectedAnswer(result) }
        #expect(refusal.correlationID.wholeMatch(of: /[0-9a-f]{16}/) != nil)
        #expect(await server.writes(refusal.correlationID))
        let lines = server.output.split(separator: "\n").filter { $0.contains(refusal.correlationID) }
        #expect(lines.count == 1 && lines[0].contains("\"reason\":\"unsupported call\""), "\(lines)")
        #expect(await server.terminate() == 0)
    }
}
