import CoreMetrics
import Testing

@testable import MetricsEndpoint

@Suite("The metric registry")
struct RegistryTests {
    private static let definitions = [
        MetricDefinition(
            "test_calls_total",
            .counter,
            "Calls, by \"kind\" \\ outcome\nin two lines.",
            labels: [
                MetricDefinition.Label("kind", .listed(["a", "b"])), MetricDefinition.Label("outcome", .listed(["x"])),
            ]
        ),
        MetricDefinition("test_level_bytes", .gauge, "A level."),
        MetricDefinition("test_wait_seconds", .histogram(bounds: [0.001, 0.5]), "Waits."),
        MetricDefinition("test_info", .gauge, "Always 1.", labels: [MetricDefinition.Label("version", .constant)]),
        MetricDefinition("test_unused_total", .counter, "Never used."),
    ]

    private let registry = MetricRegistry(Self.definitions)

    @Test("the exposition lists help and type before the series of each metric")
    func text() {
        let labels = [("outcome", "x"), ("kind", "b")]
        Counter(label: "test_calls_total", dimensions: labels, factory: self.registry).increment(by: 3)
        _ = Counter(label: "test_calls_total", dimensions: [("kind", "a"), ("outcome", "x")], factory: self.registry)
        Gauge(label: "test_level_bytes", factory: self.registry).record(1.5)
        let timer = Timer(label: "test_wait_seconds", factory: self.registry)
        for milliseconds in [1, 2, 600] { timer.recordMilliseconds(milliseconds) }
        self.registry.probe("test_info", [("version", "1\"\\\n\u{7}")]) { 1 }
        #expect(
            Exposition.text(of: self.registry) == #"""
                # HELP test_calls_total Calls, by "kind" \\ outcome\nin two lines.
                # TYPE test_calls_total counter
                test_calls_total{kind="a",outcome="x"} 0
                test_calls_total{kind="b",outcome="x"} 3
                # HELP test_level_bytes A level.
                # TYPE test_level_bytes gauge
                test_level_bytes 1.5
                # HELP test_wait_seconds Waits.
                # TYPE test_wait_seconds histogram
                test_wait_seconds_bucket{le="0.001"} 1
                test_wait_seconds_bucket{le="0.5"} 2
                test_wait_seconds_bucket{le="+Inf"} 3
                test_wait_seconds_sum 0.603
                test_wait_seconds_count 3
                # HELP test_info Always 1.
                # TYPE test_info gauge
                test_info{version="1\"\\\n\#u{FFFD}"} 1

                """#
        )
    }

    @Test(
        "a series outside the catalog is counted as a fault and not exposed, and its instrument does nothing",
        arguments: [
            ("test_other_total", [], MetricFault.unknown), ("test_level_bytes", [], .kind),
            ("test_calls_total", [], .labels), ("test_calls_total", [("kind", "a"), ("outcome", "135790")], .labels),
            ("test_calls_total", [("kind", "a"), ("kind", "a")], .labels),
            ("test_calls_total", [("kind", "a"), ("outcome", "x"), ("wallet", "7")], .labels),
        ] as [(String, [(String, String)], MetricFault)]
    )
    func faults(name: String, labels: [(String, String)], fault: MetricFault) async {
        await confirmation { isCalled in
            let registry = MetricRegistry(Self.definitions + [MetricDefinition.faults]) { faulty, reason in
                #expect(faulty == name && reason == fault)
                isCalled()
            }
            let counter = Counter(label: name, dimensions: labels, factory: registry)
            counter.increment()
            #expect(registry.refusedSeries == 1)
            let text = Exposition.text(of: registry)
            #expect(text.contains("remote_pin_metrics_refused_total{reason=\"\(fault.rawValue)\"} 1\n"))
            #expect(!text.contains("135790") && !text.contains("test_"))
        }
    }

    @Test("an instrument of the wrong kind is a fault")
    func kinds() {
        _ = Timer(label: "test_calls_total", factory: self.registry)
        _ = Recorder(label: "test_level_bytes", aggregate: true, factory: self.registry)
        _ = Recorder(label: "test_wait_seconds", aggregate: false, factory: self.registry)
        _ = Meter(label: "test_wait_seconds", factory: self.registry)
        _ = Timer(label: "test_level_bytes", factory: self.registry)
        #expect(self.registry.refusedSeries == 5)
    }

    @Test("the number of series never exceeds the limit")
    func limit() {
        let values = (0..<(MetricRegistry.mostSeries + 10)).map { "v\($0)" }
        let definition = MetricDefinition(
            "test_many_total",
            .counter,
            "Many.",
            labels: [MetricDefinition.Label("value", .listed(values))]
        )
        let registry = MetricRegistry([definition])
        for value in values {
            Counter(label: "test_many_total", dimensions: [("value", value)], factory: registry).increment()
        }
        #expect(registry.refusedSeries == 10)
        #expect(registry.series(of: "test_many_total").count == MetricRegistry.mostSeries)
    }

    @Test("no concurrent update is lost")
    func threads() async {
        let counter = Counter(
            label: "test_calls_total",
            dimensions: [("kind", "a"), ("outcome", "x")],
            factory: self.registry
        )
        let (recorder, meter) = (
            Timer(label: "test_wait_seconds", factory: self.registry),
            Meter(label: "test_level_bytes", factory: self.registry)
        )
        await withDiscardingTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<1000 {
                        counter.increment()
                        recorder.recordSeconds(1)
                        meter.increment(by: 2)
                        meter.decrement(by: 1)
                    }
                }
            }
        }
        let text = Exposition.text(of: self.registry)
        #expect(text.contains("test_calls_total{kind=\"a\",outcome=\"x\"} 8000\n"))
        #expect(text.contains("test_wait_seconds_sum 8000\n") && text.contains("test_wait_seconds_count 8000\n"))
        #expect(text.contains("test_level_bytes 8000\n"))
    }

    @Test("equal labels share one series, and a counter never decreases")
    func again() {
        let labels = [("kind", "a"), ("outcome", "x")]
        for amount in [5, -3, 0] {
            Counter(label: "test_calls_total", dimensions: labels, factory: self.registry).increment(by: amount)
        }
        let counter = Counter(label: "test_calls_total", dimensions: labels, factory: self.registry)
        counter.destroy()
        #expect(Exposition.text(of: self.registry).contains("outcome=\"x\"} 5\n"))
    }

    @Test(
        "numbers are formatted as Prometheus parses them",
        arguments: [
            (0, "0"), (-2, "-2"), (0.25, "0.25"), (1e-05, "1e-05"), (1e18, "1000000000000000000"), (.infinity, "+Inf"),
            (-.infinity, "-Inf"), (.nan, "NaN"), (1795278427.069, "1795278427.069"),
        ] as [(Double, String)]
    )
    func numbers(value: Double, text: String) {
        #expect(Exposition.number(value) == text)
    }

    @Test("a histogram ignores values that are not finite")
    func noNumbers() {
        let recorder = Recorder(label: "test_wait_seconds", factory: self.registry)
        for value in [Double.nan, .infinity, -.infinity] { recorder.record(value) }
        recorder.record(1)
        #expect(Exposition.text(of: self.registry).contains("test_wait_seconds_sum 1\ntest_wait_seconds_count 1\n"))
    }

    @Test("process statistics are parsed even if the process name contains spaces and parentheses")
    func process() throws {
        let stat = "7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 9 0 500 4096000 77 18446744073709551615 1 1"
        let figures = try #require(
            ProcessFigures(stat: stat, status: "Name:\tx\nVmRSS:\t   308 kB\n", bootTime: 1000)
        )
        #expect(figures.cpu == 2 && figures.threads == 9 && figures.start == 1005)
        #expect(figures.virtualMemory == 4_096_000 && figures.residentMemory == 315_392)
        #expect(ProcessFigures(stat: "7 (a", status: "", bootTime: 0) == nil)
        let own = try #require(ProcessFigures.current())
        #expect(own.residentMemory > 1_048_576 && own.threads >= 1 && own.start > 1_700_000_000)
        let open = try #require(ProcessFigures.openFiles)
        #expect(open >= 3)
    }
}
