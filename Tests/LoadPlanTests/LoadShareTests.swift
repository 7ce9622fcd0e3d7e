import LoadEngine
import Testing

@Suite("Shares of a load")
struct LoadShareTests {
    private static func shares(_ count: Int) throws -> [LoadShare] {
        try (1...count).map { try LoadShare(parsing: "\($0)/\(count)", place: "--part") }
    }

    @Test(
        "the shares of a number of things are disjoint and complete",
        arguments: [1, 2, 3, 4, 7],
        [0, 1, 5, 64, 1001]
    )
    func ranges(count: Int, total: Int) throws {
        let ranges = try Self.shares(count).map { $0.range(of: total) }
        #expect(ranges.flatMap { Array($0) } == Array(0..<total))
        let sizes = ranges.map(\.count)
        #expect((sizes.max() ?? 0) - (sizes.min() ?? 0) <= 1)
    }

    @Test("invalid shares are rejected", arguments: ["", "1", "0/4", "5/4", "1/0", "-1/4", "1/4/2", "a/b", "1/1001"])
    func invalid(text: String) {
        #expect(throws: PlanProblem.self) { try LoadShare(parsing: text, place: "--part") }
    }

    @Test("constant arrivals of all shares are those of the whole load", arguments: [2, 3, 4])
    func arrivals(count: Int) throws {
        let schedule = Schedule(try Stages(parsing: "2s:100/s,1s:=50/s"))
        func due(_ share: LoadShare) -> [Duration] {
            var arrivals = Arrivals(.constant, schedule, seed: 1, share: share)
            return Array(sequence(state: ()) { _ in arrivals.next() })
        }
        let parts = try Self.shares(count).map(due)
        #expect(parts.flatMap(\.self).sorted() == due(.whole))
        #expect(parts.allSatisfy { !$0.isEmpty })
    }

    @Test("Poisson arrivals of the shares have the rate of the whole load and differ from each other")
    func poisson() throws {
        let schedule = Schedule(try Stages(parsing: "100s:=100/s"))
        let parts = try Self.shares(4).map { share in
            var plan = LoadPlan(try Stages(parsing: "100s:=100/s"))
            plan.share = share
            var arrivals = Arrivals(.poisson, schedule, seed: plan.ownSeed, share: share)
            return Array(sequence(state: ()) { _ in arrivals.next() })
        }
        // Five standard deviations of 10,000 arrivals.
        #expect((9500...10_500).contains(parts.map(\.count).reduce(0, +)))
        #expect(Set(parts.map(\.first)).count == 4)
    }

    @Test("a plan divides connections, idle connections and checks in flight")
    func plan() throws {
        var plans = try Self.shares(4).map { share in
            var plan = LoadPlan(try Stages(parsing: "1s:=10"))
            plan.idleConnections = 6
            plan.maxInFlight = 100
            plan.share = share
            return plan
        }
        #expect(plans.map(\.peakUsers) == [2, 3, 2, 3])
        #expect(plans.map(\.ownIdleConnections).reduce(0, +) == 6)
        #expect(plans.map(\.ownMaxInFlight).reduce(0, +) == 100)
        #expect(Set(plans.map(\.ownSeed)).count == 4)
        #expect(plans.allSatisfy { $0.problems.isEmpty })
        plans[0].pick = .single(index: 0)
        #expect(plans[0].problems.map(\.place) == ["--part"])
        plans[1].stages = try Stages(parsing: "1s:=1")
        #expect(plans[1].problems.map(\.place) == ["--part"])
    }
}
