import TestSupport

@testable import LoadEngine

/// A simulated run with two operations, a warm-up, a stall and a killed server.
struct SampleRun {
    static let seconds = 40

    /// The run of the golden files.
    static let plain = result()

    /// The same plan with another seed on a slower server.
    static let slower = result(seed: 77, slowdown: 1.2)

    /// The plain run with a violation in its last second.
    static func violated(by text: String) -> RunResult {
        var intervals = Self.plain.intervals
        intervals[Self.seconds - 1].violations.add(text)
        return Self.result(of: intervals, seed: Self.plain.setting.seed)
    }

    /// - Parameter slowdown: The factor of every time.
    static func result(seed: UInt64 = 20_261_121, slowdown: Double = 1, thresholds: [String] = Self.thresholds)
        -> RunResult
    {
        var generator = SeededGenerator(seed: seed)
        let intervals = (0..<Self.seconds).map { second in
            Interval(
                from: .seconds(second),
                to: .seconds(second + 1),
                isWarmup: second < 5,
                stage: second < 5 ? "warm-up" : second < 25 ? "hold" : "spike",
                operations: Self.operations(second, slowdown, &generator),
                unsent: second == 18 ? 12 : 0,
                gauges: Self.gauges(second, slowdown)
            )
        }
        return Self.result(of: intervals, seed: seed, thresholds: thresholds)
    }

    static let thresholds = ["p99<20ms", "errors<1%", "violations==0"]

    static func result(of intervals: [Interval], seed: UInt64, thresholds: [String] = Self.thresholds) -> RunResult {
        RunResult(
            setting: Self.setting(seed),
            intervals: intervals,
            thresholds: thresholds.compactMap { try? Threshold(parsing: $0) },
            end: .completed,
            markers: [Marker(at: .seconds(25), "stage spike"), Marker(at: .milliseconds(32_400), "server killed")],
            sections: [Self.section],
            notes: ["pin-load used 0.9 of 2 cores and may have limited the rate"]
        )
    }

    /// Made without a recorder, whose arrays are slow without optimization.
    private static func operations(
        _ second: Int,
        _ slowdown: Double,
        _ generator: inout SeededGenerator
    ) -> [LoadEngine.Operation: OperationFigures] {
        var outcomes: [LoadEngine.Operation: [Outcome: Int]] = [:]
        var times: [LoadEngine.Operation: [(due: UInt64, sent: UInt64)]] = [:]
        let isStalled = second == 18
        for _ in 0..<Self.rate(second) {
            let isUnlock = Int.random(in: 0..<10, using: &generator) == 0
            let base = Double.random(in: 0..<1, using: &generator)
            // A long tail, like that of a queue.
            let service = (isUnlock ? 4000 : 900) * slowdown * (1 + 0.25 / (1.003 - base))
            let wait = isStalled ? Double.random(in: 0..<300_000, using: &generator) : 0
            let outcome = Self.outcome(second == 32, &generator)
            outcomes[isUnlock ? .unlock : .check, default: [:]][outcome, default: 0] += 1
            guard outcome.isTimed else { continue }
            times[isUnlock ? .unlock : .check, default: []].append((UInt64(service + wait), UInt64(service)))
        }
        return outcomes.reduce(into: [:]) { operations, pair in
            operations[pair.key] = OperationFigures(
                outcomes: pair.value,
                latency: Latencies(microseconds: (times[pair.key] ?? []).map(\.due)),
                serviceTime: Latencies(microseconds: (times[pair.key] ?? []).map(\.sent))
            )
        }
    }

    private static func outcome(_ wasKilled: Bool, _ generator: inout SeededGenerator) -> Outcome {
        let roll = Int.random(in: 0..<1000, using: &generator)
        if wasKilled, roll < 150 { return roll < 100 ? .failed("closed") : .failed("connect:refused") }
        return roll < 897 ? .valid : roll < 998 ? .wrong : .blocked
    }

    private static func rate(_ second: Int) -> Int { second < 5 ? 200 : second < 25 ? 400 : 800 }

    private static func gauges(_ second: Int, _ slowdown: Double) -> Gauges {
        let planned = Self.rate(second)
        return Gauges(
            connections: 64,
            inFlight: second == 18 ? 61 : second % 4,
            plannedRate: Double(planned),
            serverCPUSeconds: Double(planned + second % 3) * 0.00045 * slowdown,
            serverResidentBytes: 30_000_000 + second * 20_000,
            toolCPUSeconds: Double(planned) * 0.0006
        )
    }

    static func setting(_ seed: UInt64) -> RunSetting {
        RunSetting(
            command: [
                "pin-load", "run", "--lab", "lab", "--rate", "400", "--mix", "right=90,wrong=10", "--threshold",
                "p99<20ms",
            ],
            startMilliseconds: 1_795_266_000_250,
            seed: seed,
            target: "127.0.0.1:9443",
            serverBuild: "remote-pin-server 1.0 (abc1234)",
            toolBuild: "pin-load 1.0 (abc1234)",
            libraries: ["libssl": "OpenSSL 3.0.15"],
            plan: [
                PlanEntry("stages", "warm-up 5 s at 200/s, hold 20 s at 400/s, spike 15 s at 800/s"),
                PlanEntry("arrivals", "poisson"), PlanEntry("mix", "right 90%, wrong 10%"),
                PlanEntry("connection", "warm=90,new=10"),
            ],
            machine: Machine(
                cpuModel: "Example CPU @ 2.50GHz",
                cores: 2,
                memoryBytes: 8_589_934_592,
                kernel: "6.1.0"
            )
        )
    }

    private static let section = ReportSection(
        title: "Server killed and started again",
        summary: "killed once; no attempt was lost",
        columns: ["at", "down for", "in flight", "counted", "not counted"],
        rows: [[.micros(32_400_000), .micros(310_000), .count(41), .count(29), .count(12)]],
        verdict: .passed
    )
}
