import Glibc
@testable import LoadEngine
import TestSupport
import Testing
import Vocabulary

@Suite("An attack that loses its server or wallets")
struct AttackLossTests {
    private static func attack(
        _ lab: LoadLab,
        repeating: Int,
        hear: @escaping @Sendable (BurstAttack.Progress) -> Void = { _ in }
    ) async throws -> RunResult {
        let target = try Target(lab: lab.path)
        let fleet = try Fleet.open(lab.walletsFile, for: target.fingerprint)
        var plan = try BurstPlan(parsing: "burst:8/1")
        plan.repetitions = repeating
        plan.seed = 7
        var attack = BurstAttack(plan, of: fleet, at: target, events: RunEvents())
        attack.maxRetries = 1
        let measured: MeasuredRun
        do {
            measured = try await attack.run(onProgress: hear)
        } catch {
            try? fleet.close()
            throw error
        }
        try fleet.close()
        return measured.result([])
    }

    @Test("an attack that loses its server reports the measurements so far and fails")
    func lostServer() async throws {
        let lab = try await LoadLab.start(wallets: 4)
        // More repetitions than can finish: the end of the server ends the attack.
        let result = try await Self.attack(lab, repeating: 1_000_000) { _ in lab.server.send(SIGKILL) }
        #expect(result.end == .lost && result.exitCode == 99)
        #expect(result.notes.contains { $0.hasPrefix("the attack ended early: ") }, "\(result.notes)")
        let section = try #require(result.sections.first)
        #expect(section["bursts"] != .count(0), "\(section.rows)")
        #expect(result.totals.count > 0)
        _ = await lab.server.ended()
        // Without any measurement the attack throws.
        await #expect(throws: RunError.self) { _ = try await Self.attack(lab, repeating: 1) }
    }

    @Test("an attack skips a revoked wallet and notes it")
    func revokedWallet() async throws {
        let lab = try await LoadLab.start(wallets: 3)
        try await lab.revoke(wallet: 1)
        let result = try await Self.attack(lab, repeating: 4)
        #expect(result.end == .completed)
        #expect(result.notes.contains("revoked wallets were left out"), "\(result.notes)")
        let section = try #require(result.sections.first)
        #expect(section["bursts"] == .count(4), "\(section.rows)")
        await lab.server.terminate()
    }
}
