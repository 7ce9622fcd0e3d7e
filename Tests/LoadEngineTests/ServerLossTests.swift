import Foundation
@testable import LoadEngine
import Synchronization
import TestSupport
import Testing

@Suite("A run whose server ends or forgets")
struct ServerLossTests {
    @Test("a server that comes back with an older store is detected, for any number of wallets")
    func forgetful() async throws {
        let lab = try await LoadLab.start(wallets: 600)
        await lab.server.terminate()
        // An older store alone does not start, so the audit log and its mark come with it.
        let names = ["data", "audit.log", "audit.log.mark"]
        let (server, copies) = ("\(lab.path)/server", lab.folder.file("copies"))
        try FileManager.default.createDirectory(atPath: copies, withIntermediateDirectories: false)
        for name in names {
            try FileManager.default.copyItem(atPath: "\(server)/\(name)", toPath: "\(copies)/\(name)")
        }
        let first = try await lab.restart()
        let again = Mutex<ServerProcess?>(nil)
        // Few checks, each of another wallet: hardly any wallet is used twice. The server must be back before the end.
        let plan = try LoadLab.plan("20s:=2") { plan in
            plan.mix = try Mix(parsing: "wrong=1")
            plan.checksPerWallet = 1
            plan.think = try ThinkTime(parsing: "1000ms..1200ms")
        }
        let (answered, signal) = AsyncStream.makeStream(of: Void.self)
        let companion: @Sendable (RunEvents) async -> Void = { events in
            for await _ in answered { break }
            await first.kill()
            events.serverEnded()
            for name in names {
                try? FileManager.default.removeItem(atPath: "\(server)/\(name)")
                try? FileManager.default.copyItem(atPath: "\(copies)/\(name)", toPath: "\(server)/\(name)")
            }
            guard let restarted = try? await lab.restart() else { return }
            again.withLock { $0 = restarted }
            events.serverStarted(pid: restarted.processID)
        }
        let result = try await lab.run(plan, companions: [companion]) { moment in
            if moment.totals.answered > 0 { signal.finish() }
        }
        #expect(result.totals.violations.count > 0, "\(result.notes)")
        #expect(result.notes.contains { $0.contains("were opened again at the end") }, "\(result.notes)")
        #expect(result.exitCode == 99)
        #expect(result.notes.contains { $0.contains("--forget-histories") })
        // A deliberate restore is not a fault.
        let fleet = try Fleet.open(lab.walletsFile, for: Target(lab: lab.path).fingerprint)
        try fleet.forgetHistories()
        try fleet.close()
        let afterwards = try await lab.run(try LoadLab.plan("1s:=64") { $0.checksPerWallet = 1 })
        #expect(afterwards.totals.violations.count == 0, "\(afterwards.totals.violations.examples)")
        await again.withLock { $0 }?.terminate()
    }

    @Test("a server that ends permanently ends the run as lost", arguments: ["20s:=4", "20s:=40/s"])
    func lost(stages: String) async throws {
        let lab = try await LoadLab.start(wallets: 8)
        let plan = try LoadLab.plan(stages) { $0.openConnections = 4 }
        let result = try await lab.run(plan) { moment in
            if moment.totals.answered > 0 { lab.server.send(SIGKILL) }
        }
        #expect(result.end == .lost && result.exitCode == 99, "\(result.end) \(result.notes)")
        #expect(result.notes.contains { $0.contains("stopped responding") })
        await lab.server.kill()
    }

    @Test("a revoked wallet is excluded and named, and the run continues with the others")
    func revoked() async throws {
        let lab = try await LoadLab.start(wallets: 5)
        try await lab.revoke(wallet: 2)
        let events = RunEvents()
        let result = try await lab.run(try LoadLab.plan("10m:=4"), events: events) { moment in
            if moment.totals.answered >= 8 { events.interrupt() }
        }
        #expect(result.end == .interrupted && result.count(.valid) >= 8, "\(result.end)")
        #expect(result.errors.isEmpty, "\(result.errors)")
        #expect(
            result.notes.contains { $0.contains("each connection kept its wallet: ") && $0.contains(" of 5 were used") }
        )
        let tooMany = await #expect(throws: RunError.self) { try await lab.run(try LoadLab.plan("1s:=5")) }
        #expect(tooMany?.description.contains("too few for the connections") == true, "\(tooMany?.description ?? "")")
        await lab.server.terminate()
    }

    @Test("an end without responses is distinguished from a pause, a backlog and a short gap")
    func silence() {
        func interval(_ second: Int, _ outcomes: [Outcome: Int], unsent: Int = 0, isTail: Bool = false) -> Interval {
            return Interval(
                from: .seconds(second),
                to: .seconds(second + 1),
                isTail: isTail,
                operations: outcomes.isEmpty ? [:] : [.check: OperationFigures(outcomes: outcomes)],
                unsent: unsent
            )
        }
        let refused: [Outcome: Int] = [.failed("connect:refused"): 3]
        let good = interval(0, [.valid: 3])
        let limit = Duration.seconds(2)
        #expect([good, interval(1, refused), interval(2, refused)].endUnanswered(for: limit))
        #expect([good, interval(1, [:], unsent: 3), interval(2, [:])].endUnanswered(for: limit))
        #expect(![good, interval(1, [:]), interval(2, [:])].endUnanswered(for: limit))
        #expect(![good, interval(1, refused)].endUnanswered(for: limit))
        #expect(
            ![good, interval(1, refused), interval(2, refused), interval(3, [.valid: 1])].endUnanswered(for: limit)
        )
        let refusals: [Outcome: Int] = [.failed("refused:rate-limited"): 3]
        #expect(![good, interval(1, refusals), interval(2, refusals)].endUnanswered(for: limit))
        let late = interval(3, [.valid: 9], isTail: true)
        #expect(![good, interval(1, [:], unsent: 1), interval(2, [:]), late].endUnanswered(for: limit))
    }
}
