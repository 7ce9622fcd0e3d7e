import Testing

@testable import Scenarios

@Suite("The order of a run")
struct OrderTests {
    private let scenarios: [Scenario]

    init() throws {
        self.scenarios = try (1...9).map { number in
            try Scenario(yaml: "case: S\(number)\ntitle: t\nsteps: [launch]", path: "s\(number).yaml")
        }
    }

    @Test("the same seed gives the same order, another seed another one, and every scenario stays")
    func shuffled() {
        let first = ScenarioOrder.shuffled(self.scenarios, seed: 7).map(\.caseID)
        #expect(first == ScenarioOrder.shuffled(self.scenarios, seed: 7).map(\.caseID))
        #expect(first != ScenarioOrder.shuffled(self.scenarios, seed: 8).map(\.caseID))
        #expect(first != self.scenarios.map(\.caseID))
        #expect(first.sorted() == self.scenarios.map(\.caseID))
    }

    @Test("each scenario is in exactly one shard, in the order of the run", arguments: 1...10)
    func shards(count: Int) {
        let shards = (1...count).map { ScenarioOrder.shard($0, of: count, self.scenarios).map(\.caseID) }
        #expect(shards.joined().sorted() == self.scenarios.map(\.caseID))
        #expect(shards.allSatisfy { $0 == $0.sorted() })
        let sizes = shards.map(\.count)
        #expect((sizes.max() ?? 0) - (sizes.min() ?? 0) <= 1, "the shards have the same size")
    }

    @Test("a repeated scenario is played as often as requested, and its repetitions are numbered")
    func repeated() {
        let repeated = ScenarioOrder.repeated(self.scenarios, 3)
        #expect(repeated.count == 27)
        #expect(repeated.filter { $0.caseID == "S4" }.map(\.repetition) == [1, 2, 3])
        #expect(ScenarioOrder.repeated(self.scenarios, 1).allSatisfy { $0.repetition == nil })
    }
}
