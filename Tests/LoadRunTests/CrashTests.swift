import Lab
import LoadPlan
import LoadReport
import LoadRun
import TestSupport
import Testing

@Suite("A server that is killed under load")
struct CrashTests {
    @Test("comes back, and gives no guess away and takes none")
    func crashes() async throws {
        let lab = try await LoadLab.start(wallets: 24)
        await lab.server.terminate()
        let server = try await CrashingServer.start(LabFolder(lab.path), program: Programs.path(ServerProgram.name))
        let plan = try LoadLab.plan("5s:=8") { plan in
            plan.mix = try Mix(parsing: "right=5,wrong=4,change-pin=1")
            plan.timeout = .seconds(5)
        }
        let result = try await lab.run(
            plan,
            companions: [{ await server.crash(every: .milliseconds(800), telling: $0) }]
        )
        await server.stop()
        #expect(result.totals.violations.count == 0, "\(result.totals.violations.examples)")
        #expect(server.section.rows.count >= 3, "\(server.section)")
        #expect(result.markers.contains { $0.text == "server ready again" })
        #expect(result.count(.valid) > 20 && result.count(.wrong) > 20, "\(result.errors)")
    }

    @Test("is not one that somebody else serves")
    func served() async throws {
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
