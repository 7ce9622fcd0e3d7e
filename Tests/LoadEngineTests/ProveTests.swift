import Foundation
@testable import LoadEngine
import TestSupport
import Testing

@Suite("A proof of a server's promises")
struct ProveTests {
    /// The hook script for a lab's server, which also starts and stops it.
    private func hook(_ lab: LoadLab) -> OperatorProgram {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let script = root.appendingPathComponent("deploy/prove/lab-faults.sh").path
        let server = Programs.path("remote-pin-server")
        return OperatorProgram("LAB='\(lab.path)' SERVER='\(server)' '\(script)'")
    }

    private func plan() throws -> LoadPlan {
        try LoadLab.plan("10m:=8") { plan in
            plan.mix = try Mix(parsing: "right=60,wrong=35,change-pin=5")
            plan.checksPerWallet = 25
            plan.timeout = .seconds(5)
        }
    }

    @Test("a lab server that is killed, away and frozen keeps every promise, and each fault is reported")
    func kept() async throws {
        let lab = try await LoadLab.start(wallets: 24)
        await lab.server.terminate()
        let hook = self.hook(lab)
        try await hook.run(["start"])
        var faults = ProofPlan()
        faults.hook = hook
        faults.faults = try await hook.run(["list"]).split(whereSeparator: \.isWhitespace).map(String.init)
        faults.faultEvery = .milliseconds(400)
        faults.faultFor = .milliseconds(300)
        let proof = Proof(faults)
        let events = RunEvents()
        let result = try await lab.run(try self.plan(), events: events, proof: proof) { moment in
            let injected = proof.sections(for: [])[1].rows.count
            if injected >= 4, moment.totals.count > 200 { events.interrupt() }
        }
        try await hook.run(["stop"])
        #expect(faults.faults == ["kill", "away", "freeze"])
        #expect(result.totals.violations.count == 0, "\(result.totals.violations.examples)")
        let promises = try #require(result.sections.first { $0.title == "Promises" })
        #expect(promises.verdict == .passed, "\(promises)")
        let injected = try #require(result.sections.first { $0.title == "Faults" })
        #expect(injected.rows.count >= 4 && injected.verdict == .neutral, "\(injected)")
        #expect(Set(injected.rows.compactMap(\.first)).count == 3)
        #expect(result.sections.contains { $0.title == "Gaps seen by clients" })
    }

    @Test("a broken promise is named, with the events of its wallet")
    func broken() async throws {
        let lab = try await LoadLab.start(wallets: 1)
        let server = try await LyingServer(.nothingCounted, before: lab)
        let proof = Proof(ProofPlan())
        let events = RunEvents()
        let plan = try LoadLab.plan("10m:=1") { $0.mix = try Mix(parsing: "wrong=1") }
        let result = try await lab.run(plan, at: try Target(lab: server.folder), events: events, proof: proof) {
            if $0.totals.violations.count > 0 { events.interrupt() }
        }
        server.stop()
        await lab.server.terminate()
        let promises = try #require(result.sections.first { $0.title == "Promises" })
        #expect(promises.verdict == .failed)
        #expect(promises.rows.first?.last == .text("broken"), "\(promises)")
        let first = try #require(result.sections.first { $0.title == "First violation" })
        #expect(first.summary.contains("impossible-count"))
        #expect(first.rows.contains { $0.last == .text("2 sent: check of a wrong PIN for key 0") }, "\(first)")
        #expect(first.rows.last?.last.map { "\($0)".contains("wrong, 4 attempts left") } == true, "\(first)")
        #expect(result.exitCode == 99)
    }

    @Test("no verdict follows a revocation that has returned")
    func revocation() async throws {
        let lab = try await LoadLab.start(wallets: 24)
        var faults = ProofPlan()
        let server = Programs.path("remote-pin-server")
        faults.revoke = OperatorProgram(
            "revoke() { '\(server)' admin revoke wallet --lab '\(lab.path)' \"$1\"; }; revoke"
        )
        faults.revokeEvery = .milliseconds(300)
        let proof = Proof(faults)
        let events = RunEvents()
        let result = try await lab.run(try self.plan(), events: events, proof: proof) { _ in
            let words = proof.sections(for: [])[1].summary.split(separator: " ")
            if let count = Int(words[2]), count >= 3 { events.interrupt() }
        }
        await lab.server.terminate()
        #expect(result.totals.violations.count == 0, "\(result.totals.violations.examples)")
        let promises = try #require(result.sections.first { $0.title == "Promises" })
        #expect(promises.verdict == .passed, "\(promises)")
    }

    @Test("a hook that fails, and a run too short for a fault, prove nothing")
    func nothingShown() async throws {
        let lab = try await LoadLab.start(wallets: 8)
        for command in ["false", "true"] {
            var faults = ProofPlan()
            faults.hook = OperatorProgram(command)
            faults.faults = ["kill"]
            faults.faultEvery = command == "false" ? .milliseconds(10) : .seconds(3600)
            faults.faultFor = .milliseconds(10)
            let proof = Proof(faults)
            let events = RunEvents()
            let result = try await lab.run(try self.plan(), events: events, proof: proof) { moment in
                let isDone = command == "true" || !proof.sections(for: [])[1].rows.isEmpty
                if isDone, moment.totals.count > 0 { events.interrupt() }
            }
            let section = try #require(result.sections.first { $0.title == "Faults" })
            #expect(section.verdict == .failed, "\(section)")
            #expect(result.exitCode == 99)
        }
        await lab.server.terminate()
    }
}
