import LoadEngine
import Testing

@Suite("Load plan")
struct LoadPlanTests {
    private static func plan(_ stages: String) throws -> LoadPlan { LoadPlan(try Stages(parsing: stages)) }

    @Test("contradictory options are reported with their names")
    func problems() throws {
        var plan = try Self.plan("10s:=50/s")
        #expect(plan.problems.isEmpty)
        plan.think = try ThinkTime(parsing: "1s")
        plan.connectionUse = try Weights(parsingUse: "new=1,resumed=2")
        plan.checksPerWallet = 8
        plan.maxInFlight = 0
        plan.pick = .single(index: 0)
        plan.mix = try Mix(parsing: "right=1,change-pin=1")
        #expect(Set(plan.problems.map(\.place)) == ["--think", "--checks-per-wallet", "--max-in-flight", "--mix"])
    }

    @Test("one use of connections applies to all checks, or several are weighted")
    func connectionUse() throws {
        for (text, written) in [
            ("warm", "warm"), ("resumed", "resumed"), ("new=1", "new"), ("new=10,warm=90", "warm=90,new=10"),
        ] {
            let use = try Weights(parsingUse: text)
            #expect(use.useText == written)
            #expect(try Weights(parsingUse: use.useText) == use || text == "new=1")
        }
        for (text, message) in [
            ("nwe", "did you mean `new`?"), ("warm=1,nwe=1", "did you mean `new`?"), ("warm,new", "NAME=WEIGHT"),
        ] {
            let problem = #expect(throws: PlanProblem.self) { try Weights(parsingUse: text) }
            #expect(
                problem?.place == "--connection" && problem?.text.contains(message) == true,
                "\(problem?.text ?? "")"
            )
        }
        var plan = try Self.plan("10s:=50")
        plan.checksPerWallet = 8
        plan.connectionUse = try Weights(parsingUse: "warm=9,new=1")
        #expect(plan.problems.isEmpty)
        #expect(plan.entries.contains { $0 == ("connection", "warm=9,new=1") })
    }

    @Test("the peak includes idle connections and the connections of an open loop")
    func peak() throws {
        var closed = try Self.plan("10s:100,10s:=2000")
        closed.idleConnections = 10
        #expect(closed.peakConnections == 2010)
        var open = try Self.plan("10s:100/s")
        open.openConnections = 7
        #expect(open.peakConnections == 7)
    }

    @Test("the result names every choice that was made, and no other")
    func entries() throws {
        var plan = try Self.plan("10s:=50/s")
        #expect(plan.entries.map(\.name).contains("warm-up") == false)
        plan.arrivals = .poisson
        plan.warmup = .seconds(5)
        plan.checksPerWallet = 8
        plan.maxWrongPerWallet = 2
        plan.idleConnections = 9
        let text = plan.entries.map { "\($0.name): \($0.value)" }
        for part in [
            "arrivals: poisson", "stages: 10s:=50/s", "warm-up: 5s", "checks per wallet: 8", "idle connections: 9",
            "max wrong per wallet: 2", "mix: right=1", "loop: open", "pick: uniform",
        ] {
            #expect(text.contains(part), "\(part) in \(text)")
        }
    }

    @Test(
        "counts and rates may have suffixes",
        arguments: [
            ("500", 500), ("10k", 10_000), ("1M", 1_000_000), ("2.5k", 2500), ("0.5", 0.5), ("", nil), ("k", nil),
            ("-1", nil), ("1e9", nil), ("1.2.3", nil), (".5", nil), ("2G", nil), ("5M5", nil), ("9999M", nil),
        ] as [(String, Double?)]
    )
    func counts(text: String, number: Double?) {
        #expect(CountText.readNumber(text) == number)
        if let number { #expect(CountText.readNumber(CountText.write(number)) == number) }
    }

    @Test("the streams of one seed differ and are repeatable")
    func streams() {
        func head(_ seed: UInt64, _ stream: UInt64) -> [UInt64] {
            var generator = PlanGenerator(seed: seed, stream: stream)
            return (0..<4).map { _ in generator.next() }
        }
        #expect(head(1, 2) == head(1, 2))
        let heads = Set((0..<100).flatMap { seed in (0..<100).map { head(seed, $0) } })
        #expect(heads.count == 10_000)
    }
}
