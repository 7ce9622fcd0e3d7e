import Foundation
import Lab
import LabFiles
@testable import LoadEngine
import TestSupport
import Testing

@Suite("A server that hangs after a kill")
struct CrashReturnTests {
    /// A program that serves the lab once, and afterwards reports that it starts and never does.
    private static func hangingProgram(in lab: LoadLab) throws -> (path: String, mark: String) {
        let mark = lab.folder.file("hangs")
        let script = """
            #!/bin/sh
            # Without a child process, which a kill could leave behind.
            if [ -e \(mark).first ]; then : >\(mark); echo replaying the log; exec cat; fi
            : >\(mark).first
            exec \(Programs.path(ServerProgram.name)) "$@"
            """
        let path = try lab.folder.write(script, to: "server")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        return (path, mark)
    }

    /// A lab without a server.
    private static func lab() async throws -> LoadLab {
        let lab = try await LoadLab.start(wallets: 2)
        await lab.server.terminate()
        return lab
    }

    private static func serve(
        _ lab: LoadLab,
        by program: String,
        returningWithin patience: Duration
    ) async throws -> CrashingServer {
        try await CrashingServer.start(LabFolder(lab.path), program: program, returningWithin: patience)
    }

    private static func crashes(of server: CrashingServer) -> @Sendable (RunEvents) async -> Void {
        { await server.crash(every: .milliseconds(500), telling: $0) }
    }

    private static func plan() throws -> LoadPlan {
        // Events end the run, independent of the machine's speed.
        try LoadLab.plan("5m:=2") { $0.timeout = .seconds(1) }
    }

    @Test("a server that does not come back in time is killed, and the run ends with its report and fails")
    func timeout() async throws {
        let lab = try await Self.lab()
        let program = try Self.hangingProgram(in: lab).path
        // Long enough for a busy machine to end a killed process, which has the same limit.
        let server = try await Self.serve(lab, by: program, returningWithin: .seconds(3))
        let result = try await lab.run(
            try Self.plan(),
            companions: [Self.crashes(of: server)]
        )
        await server.stop()
        #expect(result.end == .lost && result.exitCode == 99)
        let note = "the server did not come back within 3.0 seconds and was killed: "
        #expect(result.notes.contains { $0.hasPrefix(note) }, "\(result.notes)")
        #expect(server.section.verdict == .failed, "\(server.section)")
    }

    @Test("an interrupted run does not wait for the server and does not report it as lost")
    func interruption() async throws {
        let lab = try await Self.lab()
        let (program, mark) = try Self.hangingProgram(in: lab)
        let server = try await Self.serve(lab, by: program, returningWithin: .seconds(3600))
        let events = RunEvents()
        let result = try await lab.run(
            try Self.plan(),
            events: events,
            companions: [Self.crashes(of: server)]
        ) { _ in
            if FileManager.default.fileExists(atPath: mark) { events.interrupt() }
        }
        await server.stop()
        #expect(result.end == .interrupted && result.exitCode == 130)
        #expect(server.section.verdict == .neutral)
        #expect(server.section.summary.contains("ended while it was coming back"), "\(server.section)")
    }

    @Test(
        "a server that outlives its start script ends the run, with the reason in a note"
    )
    func startScriptWithoutExec() async throws {
        let lab = try await Self.lab()
        let program = try lab.folder.write("#!/bin/sh\n\(Programs.path(ServerProgram.name)) \"$@\"\n", to: "server")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        let server = try await Self.serve(lab, by: program, returningWithin: .milliseconds(100))
        let result = try await lab.run(
            try Self.plan(),
            companions: [Self.crashes(of: server)]
        )
        await server.stop()
        #expect(result.end == .lost)
        #expect(result.notes.contains { $0.contains("has to `exec` it") }, "\(result.notes)")
        #expect(result.totals.violations.count == 0)
    }
}
