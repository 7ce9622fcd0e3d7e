@testable import LoadEngine
import Testing

@Suite("Recorder")
struct RecorderTests {
    private static func sample(_ outcome: Outcome = .valid, micros: Int64 = 500) -> Sample {
        Sample(
            operation: .check,
            outcome: outcome,
            latency: .microseconds(micros),
            serviceTime: .microseconds(micros / 2)
        )
    }

    @Test("every operation of concurrent lanes is in exactly one interval")
    func concurrently() async {
        let recorder = Recorder()
        let perLane = 20_000
        let intervals = await withTaskGroup(of: Void.self, returning: [Interval].self) { group in
            for number in 0..<4 {
                group.addTask { @concurrent in
                    let lane = recorder.makeLane()
                    for step in 0..<perLane {
                        lane.record(
                            Self.sample(step % 4 == 0 ? .wrong : .valid, micros: Int64(number * 1000 + step % 900))
                        )
                    }
                }
            }
            group.addTask { @concurrent in for _ in 0..<1000 { recorder.recordUnsent(1) } }
            var intervals: [Interval] = []
            for second in 0..<50 {
                intervals.append(recorder.takeInterval(from: .seconds(second), to: .seconds(second + 1)))
                await Task.yield()
            }
            await group.waitForAll()
            intervals.append(recorder.takeInterval(from: .seconds(50), to: .seconds(51)))
            return intervals
        }
        let totals = Totals(of: intervals)
        let figures = totals.figures(of: .check)
        #expect(figures.outcomes == [.valid: perLane * 3, .wrong: perLane])
        #expect(figures.latency.count == perLane * 4 && figures.serviceTime.count == perLane * 4)
        #expect(totals.unsent == 1000)
        #expect(recorder.takeInterval(from: .zero, to: .seconds(1)).operations.isEmpty)
    }

    @Test("answers, timeouts and interruptions are timed, other failures only counted")
    func timed() {
        let recorder = Recorder()
        let waited: [Outcome] = [.timeout, .connectTimeout, .interrupted]
        for outcome in Outcome.answers + waited + [.failed("connect:refused"), .failed("closed")] {
            recorder.record(Self.sample(outcome))
        }
        let figures = recorder.takeInterval(from: .zero, to: .seconds(1)).totals.figures(of: .check)
        #expect(figures.count == 11 && figures.failures == 4 && figures.answered == 6)
        #expect(figures.latency.count == 9)
    }

    @Test("a failure is not an unexpected answer")
    func unexpected() {
        let recorder = Recorder()
        for outcome in [.blocked, .timeout, .failed("connect:refused")] as [Outcome] {
            recorder.record(
                Sample(operation: .check, outcome: outcome, latency: .zero, serviceTime: .zero, isExpected: false)
            )
        }
        #expect(recorder.takeInterval(from: .zero, to: .seconds(1)).totals.figures().unexpected == 1)
    }

    @Test("answers after the end of the plan are counted and timed, but not part of rate and noise")
    func tail() throws {
        let recorder = Recorder()
        var intervals: [Interval] = []
        for second in 0..<20 {
            for _ in 0..<(second < 10 ? 10 : second == 19 ? 40 : 0) { recorder.record(Self.sample()) }
            intervals.append(
                recorder.takeInterval(from: .seconds(second), to: .seconds(second + 1), isTail: second >= 10)
            )
        }
        let totals = Totals(of: intervals)
        #expect(totals.count == 140 && totals.duration == .seconds(10))
        #expect(totals.rate == 10 && totals.rate(of: .check) == 10 && totals.rate(of: .unlock) == 0)
        #expect(intervals[19].totals.rate == 40, "alone it is an interval like the others")
        let long = SampleRun.result(of: intervals, seed: 1)
        let read = try RunResult(json: Array(long.jsonText.utf8))
        #expect(read.intervals == intervals)
        let short = SampleRun.result(of: Array(intervals.prefix(10)), seed: 1)
        #expect(Comparison(short, long).rows.first { $0.name == "rate" }?.finding == .same)
    }

    @Test(
        "a time out of range is counted at the end of the range",
        arguments: [
            (Duration.microseconds(-5), 0), (.nanoseconds(-1), 0), (.nanoseconds(999), 0), (.nanoseconds(1500), 1),
            (.seconds(3600), 3_600_000_000), (.seconds(1_000_000_000), 3_600_000_000),
        ] as [(Duration, UInt64)]
    )
    func extremes(time: Duration, micros: UInt64) {
        let recorder = Recorder()
        recorder.record(Sample(operation: .register, outcome: .registered, latency: time, serviceTime: time))
        let figures = recorder.takeInterval(from: .zero, to: .seconds(1)).totals.figures(of: .register)
        #expect(figures.latency == Latencies(microseconds: [micros]))
    }

    @Test("every violation counts, also in the warm-up, and the first ones keep their description")
    func violations() {
        let recorder = Recorder()
        for number in 0..<50 { recorder.recordViolation("number \(number)") }
        let interval = recorder.takeInterval(from: .zero, to: .seconds(1), isWarmup: true)
        let totals = Totals(of: [interval])
        #expect(totals.violations.count == 50)
        #expect(totals.violations.examples == (0..<Violations.exampleLimit).map { "number \($0)" })
        #expect(totals.count == 0)
    }

    @Test("the warm-up changes no metric")
    func warmup() {
        let recorder = Recorder()
        recorder.record(Self.sample(micros: 1_000_000))
        let warm = recorder.takeInterval(
            from: .zero,
            to: .seconds(10),
            isWarmup: true,
            gauges: Gauges(serverCPUSeconds: 5, serverResidentBytes: 1 << 40)
        )
        recorder.record(Self.sample(micros: 100))
        let measured = recorder.takeInterval(
            from: .seconds(10),
            to: .seconds(12),
            gauges: Gauges(serverCPUSeconds: 0.5)
        )
        #expect(Totals(of: [warm, measured]) == Totals(of: [measured]))
        #expect(Totals(of: [warm, measured]).rate == 0.5)
        #expect(Totals(of: [warm, measured]).serverCPUMicrosecondsPerOperation == 500_000)
    }

    @Test("the cost per operation uses only intervals with a known CPU time")
    func partlyKnown() {
        let recorder = Recorder()
        recorder.record(Self.sample())
        let unknown = recorder.takeInterval(from: .zero, to: .seconds(1))
        recorder.record(Self.sample())
        let known = recorder.takeInterval(from: .seconds(1), to: .seconds(2), gauges: Gauges(serverCPUSeconds: 0.001))
        #expect(Totals(of: [unknown, known]).serverCPUMicrosecondsPerOperation == 1000)
    }

    @Test("the share of a verification is computed over all measured intervals")
    func verificationShare() {
        let recorder = Recorder()
        var intervals: [Interval] = []
        for (second, cost) in [60.0, 70.0].enumerated() {
            recorder.record(Self.sample())
            intervals.append(
                recorder.takeInterval(
                    from: .seconds(second),
                    to: .seconds(second + 1),
                    gauges: Gauges(serverCPUSeconds: 0.0001, verificationMicroseconds: cost)
                )
            )
        }
        let totals = Totals(of: intervals)
        #expect(totals.verificationMicroseconds == 65)
        #expect(totals.verificationShare.map { abs($0 - 0.65) < 1e-9 } == true)
        #expect(Totals(of: [Interval(from: .zero, to: .seconds(1))]).verificationShare == nil)
    }

    @Test(
        "the name of an outcome reads back as the outcome",
        arguments: Outcome.answers + [.timeout, .failed("refused:rate-limited")]
    )
    func names(outcome: Outcome) {
        #expect(Outcome(rawValue: outcome.rawValue) == outcome)
        #expect(Outcome(rawValue: "x" + outcome.rawValue) == nil)
    }

    @Test("a note states if pin-load limited the rate")
    func toolBound() {
        func totals(_ tool: Double?, _ server: Double?) -> Totals {
            let gauges = Gauges(serverCPUSeconds: server, toolCPUSeconds: tool)
            return Totals(of: [Interval(from: .zero, to: .seconds(2), gauges: gauges)])
        }
        #expect(totals(1.9, 0.1).toolLimitNote?.contains("pin-load used 95% of a core and the server 5%") == true)
        for (tool, server) in [(1.9, 1.0), (0.5, 0.01), (nil, 0.1), (1.9, nil)] as [(Double?, Double?)] {
            #expect(totals(tool, server).toolLimitNote == nil)
        }
    }
}
