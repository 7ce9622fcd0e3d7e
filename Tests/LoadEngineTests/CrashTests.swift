import Lab
import LabFiles
@testable import LoadEngine
import TestSupport
import Testing

@Suite("A server that is killed under load")
struct CrashTests {
    @Test("a server that is killed repeatedly gives no guess away and takes none")
    func crashes() async throws {
        let lab = try await LoadLab.start(wallets: 24)
        await lab.server.terminate()
        let server = try await CrashingServer.start(LabFolder(lab.path), program: Programs.path(ServerProgram.name))
        // Events end the run, independent of the machine's speed.
        let plan = try LoadLab.plan("5m:=8") { plan in
            plan.mix = try Mix(parsing: "right=5,wrong=4,change-pin=1")
            plan.timeout = .seconds(5)
        }
        let events = RunEvents()
        let result = try await lab.run(
            plan,
            events: events,
            companions: [{ await server.crash(every: .milliseconds(800), telling: $0) }]
        ) { moment in
            // A kill may hit no check in flight.
            guard server.section.rows.count >= 3, moment.totals.count > 200, moment.repeated > 0 else { return }
            events.interrupt()
        }
        await server.stop()
        #expect(result.totals.violations.count == 0, "\(result.totals.violations.examples)")
        #expect(server.section.rows.count >= 3, "\(server.section)")
        #expect(result.markers.contains { $0.text == "server ready again" })
        #expect(result.notes.contains { $0.contains("were sent again with their attempt ids") }, "\(result.notes)")
        #expect(result.count(.valid) > 0 && result.count(.wrong) > 0, "\(result.errors)")
    }

    @Test("a lab that another process serves is rejected")
    func alreadyServed() async throws {
        let lab = try await LoadLab.start(wallets: 1)
        let run = try await ServerProcess.run(
            "pin-load",
            [
                "run", "--lab", lab.path, "--wallets", lab.walletsFile, "--connections", "1", "--duration", "1s",
                "--kill-server-every", "1s",
            ]
        )
        #expect(run.exitCode == 1)
        #expect(run.output.contains("is being served by process \(lab.server.processID)"), "\(run.output)")
        await lab.server.terminate()
    }
}
