@testable import LoadEngine
import TestSupport
import Testing
import Vocabulary

@Suite("Bursts of guesses")
struct AttackTests {
    private func attack(_ text: String, repeating: Int, _ lab: LoadLab) async throws -> RunResult {
        let target = try Target(lab: lab.path)
        let fleet = try Fleet.open(lab.walletsFile, for: target.fingerprint)
        var plan = try BurstPlan(parsing: text)
        plan.repetitions = repeating
        plan.seed = 7
        let measured = try await BurstAttack(
            plan,
            of: fleet,
            at: target,
            events: RunEvents()
        ).run { _ in }
        try fleet.close()
        return measured.result([])
    }

    @Test("a server that counts before it judges accepts at most a round, over many connections and over one")
    func correctServer() async throws {
        let lab = try await LoadLab.start(wallets: 4)
        for text in ["burst:12", "burst:16/2", "burst:8/1"] {
            // More bursts than wallets: the lab's clock is moved past the blocks.
            let result = try await self.attack(text, repeating: 10, lab)
            #expect(result.totals.violations.count == 0, "\(text): \(result.totals.violations.examples)")
            #expect(result.errors.isEmpty, "\(result.errors)")
            let section = try #require(result.sections.first)
            // How often the right guess was in is chance, and so is the verdict.
            guard case .count(let judged)? = section["most guesses judged per burst"],
                case .count(let allowed)? = section["most guesses allowed per burst"]
            else {
                Issue.record("\(section.rows)")
                continue
            }
            #expect(judged <= allowed)
            #expect(section["bursts"] == .count(10), "\(section.rows)")
            #expect(result.notes.contains { $0.contains("clock was advanced") })
            let wayOut = "remote-pin-server admin clock advance 61s --lab \(lab.path)"
            #expect(result.notes.contains { $0.contains(wayOut) }, "\(result.notes)")
        }
        // A burst of at most a round blocks no wallet, and no block is noted.
        let small = try await self.attack("burst:4", repeating: 2, lab)
        #expect(!small.notes.contains { $0.contains("in a block") }, "\(small.notes)")
        // The saved histories are correct: the next run finds no violation, and the blocks are over.
        let plan = try LoadLab.plan("1s:=2") { $0.mix = try Mix(parsing: "right=1,wrong=1") }
        let after = try await lab.run(plan)
        #expect(after.totals.violations.count == 0, "\(after.totals.violations.examples)")
        await lab.server.terminate()
    }

    @Test("one burst detects a server that counts nothing")
    func lyingServer() async throws {
        let lab = try await LoadLab.start(wallets: 2)
        let server = try await LyingServer(.nothingCounted, before: lab)
        let target = try Target(lab: server.folder)
        let fleet = try Fleet.open(lab.walletsFile, for: target.fingerprint)
        var plan = try BurstPlan(parsing: "burst:12/1")
        plan.repetitions = 1
        let measured = try await BurstAttack(
            plan,
            of: fleet,
            at: target,
            events: RunEvents()
        )
        .run { _ in }
        try fleet.close()
        server.stop()
        let result = measured.result([])
        #expect(result.totals.violations.count > 0)
        #expect(result.sections.first?.verdict == .failed)
        #expect(result.exitCode == 99)
        await lab.server.terminate()
    }

    @Test("an attack is parsed from its text form, and an invalid text is rejected")
    func parsing() throws {
        #expect(try BurstPlan(parsing: "burst:64").connections == 64)
        #expect(try BurstPlan(parsing: "burst:64/4").mostOnOneConnection == 16)
        #expect(try BurstPlan(parsing: "burst:64/4").text == "burst:64/4")
        for text in ["burst", "burst:", "burst:1", "burst:64/", "burst:64/65", "burst:64/0", "flood:3", "burst:1/1/1"] {
            #expect(throws: PlanProblem.self, "\(text)") { try BurstPlan(parsing: text) }
        }
    }

    @Test(
        "a result that one correct server in a thousand exceeds does not accuse the server; a rarer one does",
        arguments: [
            (25, 100, false), (37, 100, false), (49, 100, true), (100, 100, true), (0, 100, false), (2, 2, false),
        ]
    )
    func significance(timesIn: Int, bursts: Int, isExcessive: Bool) {
        var statistics = BurstStatistics(size: 16, attempts: 4)
        for burst in 0..<bursts { statistics.add(isRightIn: burst < timesIn, judged: 4) }
        #expect(statistics.isExcessive == isExcessive, "\(statistics.probability)")
        #expect(statistics.interval.contains(statistics.share))
        #expect(statistics.bound == 0.25)
    }

    @Test(
        "bursts without a response to the right guess show nothing and do not pass; one with it counts as a burst"
    )
    func missingResponses() throws {
        let plan = try BurstPlan(parsing: "burst:16")
        var statistics = BurstStatistics(size: 16, attempts: 4)
        #expect(statistics.section(plan).verdict == .neutral)
        var result = BurstResult()
        (result.judged, result.failed, result.isRightUnknown) = (3, 2, true)
        statistics.add(result)
        #expect(statistics.section(plan).verdict == .failed && statistics.bursts == 0)
        let section = statistics.section(plan)
        #expect(section["bursts"] == .count(1) && section["bursts with a lost answer"] == .count(1))
        #expect(section["bursts without the right guess's answer"] == .count(1))
        (result.isRightIn, result.isRightUnknown) = (true, false)
        statistics.add(result)
        #expect(statistics.bursts == 1 && statistics.timesIn == 1 && statistics.section(plan).verdict == .neutral)
        (result.judged, result.isRightIn, result.isRightUnknown) = (9, false, true)
        statistics.add(result)
        #expect(statistics.isExcessive && statistics.section(plan).verdict == .failed)
    }

    @Test("a missing response is counted for the right guess or for another")
    func tallyOfMissingResponse() {
        for isRight in [true, false] {
            let tally = BurstTally()
            tally.answered(.timeout, isRight: isRight, at: .zero)
            #expect(tally.result.failed == 1 && tally.result.isRightUnknown == isRight)
        }
    }

    @Test("more judged guesses than two rounds allow are excessive, with or without the right one")
    func judgedGuesses() {
        var statistics = BurstStatistics(size: 16, attempts: 4)
        statistics.add(isRightIn: true, judged: 8)
        #expect(!statistics.isExcessive)
        statistics.add(isRightIn: false, judged: 9)
        #expect(statistics.isExcessive)
    }
}
