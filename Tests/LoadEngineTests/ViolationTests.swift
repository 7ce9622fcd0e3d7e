@testable import LoadEngine
import TestSupport
import Testing

@Suite("A server that lies")
struct ViolationTests {
    @Test("each lie of a server is detected as its own violation, and an honest server has none")
    func lies() async throws {
        let lab = try await LoadLab.start(wallets: 24)
        let wrong = try Mix(parsing: "wrong=1")
        let right = try Mix(parsing: "right=1")
        let cases: [(LyingServer.Lie, Mix, String?)] = [
            (.none, wrong, nil), (.rightIsWrong, right, "right-pin-called-wrong"),
            (.wrongIsValid, wrong, "wrong-pin-called-valid"), (.otherShare, right, "share-of-another-wallet"),
            (.nothingCounted, wrong, "impossible-count"), (.noBlock, wrong, "impossible-count"),
            (.blockForNothing, right, "block-without-cause"), (.openingForgetsCount, wrong, "impossible-opening"),
            (.answersOtherwise, right, "answer-to-another-question"), (.noReceipt, wrong, "missing-receipt"),
            (.sameNumber, wrong, "impossible-number"),
        ]
        #expect(Set(cases.map(\.0)) == Set(LyingServer.Lie.allCases))
        for (number, (lie, mix, name)) in cases.enumerated() {
            let server = try await LyingServer(lie, before: lab)
            // A separate wallet for each lie, because the histories are saved.
            let events = RunEvents()
            let plan = try LoadLab.plan("10m:=1") { plan in
                plan.mix = mix
                plan.pick = .single(index: number)
                plan.connectionUse = Weights(only: lie == .openingForgetsCount ? .new : .warm)
            }
            let result = try await lab.run(plan, at: try Target(lab: server.folder), events: events) { moment in
                // Enough responses for any lie, independent of the machine's speed.
                if moment.totals.violations.count > 0 || moment.totals.count >= 12 { events.interrupt() }
            }
            server.stop()
            let violations = result.totals.violations
            if let name {
                #expect(violations.count > 0, "\(lie)")
                #expect(
                    violations.examples.first?.hasPrefix("\(name):") == true,
                    "\(lie): \(violations.examples.first ?? "")"
                )
                #expect(result.exitCode == 99, "\(lie)")
            } else {
                #expect(violations.count == 0, "\(violations.examples)")
                #expect(result.count(.wrong) == 4 && result.count(.blocked) > 0)
                #expect(result.exitCode == 130)
            }
        }
        await lab.server.terminate()
    }

    @Test("a lie in the warm-up is detected although its figures are discarded")
    func warmup() async throws {
        let lab = try await LoadLab.start(wallets: 1)
        let server = try await LyingServer(.rightIsWrong, before: lab)
        let events = RunEvents()
        let plan = try LoadLab.plan("1m:=1") { $0.warmup = .seconds(30) }
        let result = try await lab.run(plan, at: try Target(lab: server.folder), events: events) { moment in
            // The first response in the warm-up suffices.
            if moment.interval.operations.values.contains(where: { $0.answered > 0 }) { events.interrupt() }
        }
        server.stop()
        #expect(result.totals.count == 0)
        #expect(result.totals.violations.count > 0)
        #expect(result.exitCode == 99)
        await lab.server.terminate()
    }
}
