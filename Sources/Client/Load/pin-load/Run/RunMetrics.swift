internal import ConfigText
internal import CoreMetrics
internal import HostSystem
internal import LoadEngine
internal import MetricsEndpoint
internal import Synchronization

/// Prometheus metrics for a running load test, updated after each interval.
///
/// The counters include the warm-up, which reports leave out, so that a dashboard shows all load on the server.
final class RunMetrics: Sendable {
    private let registry: MetricRegistry
    private let last = Mutex<RunSnapshot?>(nil)
    private let violations: Counter
    private let unsent: Counter
    private let listener: ObservationListener

    /// Serves metrics while `body` runs and writes their URL to standard error; does nothing if the address is nil.
    static func serving<Value>(
        at address: HostAndPort?,
        _ body: (RunMetrics?) async throws -> Value
    ) async throws -> Value {
        guard let address else { return try await body(nil) }
        let metrics = try await RunMetrics(listeningOn: address)
        return try await closing(await metrics.listener.close()) { try await body(metrics) }
    }

    private init(listeningOn address: HostAndPort) async throws(PinLoadFailure) {
        let registry = MetricRegistry(Self.definitions)
        let sources = ObservationSources(
            metrics: { Exposition.text(of: registry) },
            failures: { [] },
            readiness: { .ready }
        )
        do throws(ObservationListenError) {
            self.listener = try await ObservationListener.bind(host: address.host, port: address.port, answers: sources)
        } catch {
            throw PinLoadFailure(.usage, "--metrics: cannot listen on \(address): \(error.reason)")
        }
        self.registry = registry
        self.violations = Counter(label: Self.violationCount.name, factory: registry)
        self.unsent = Counter(label: Self.unsentCount.name, factory: registry)
        let bound = HostAndPort(host: address.host, port: self.listener.port)
        StandardStreams.writeError("metrics at http://\(bound)/metrics\n")
        registry.watchProcess()
        for (metric, figure) in Self.figures {
            registry.probe(metric.name) { [weak self] in self?.last.withLock { $0.map(figure) } }
        }
        // Each series exists from the start, so that its first increase is visible to `rate()`.
        for operation in Operation.allCases {
            for outcome in Self.outcomes { _ = self.counter(operation, outcome) }
        }
    }

    /// Adds the last interval of a run.
    func update(_ snapshot: RunSnapshot) {
        self.last.withLock { $0 = snapshot }
        for (operation, figures) in snapshot.interval.operations {
            for (outcome, count) in figures.outcomes {
                self.counter(operation, outcome.isFailure ? Self.failed : outcome.rawValue).increment(by: count)
            }
            let dimensions = [("operation", operation.rawValue)]
            let latency = Recorder(label: Self.latencies.name, dimensions: dimensions, factory: self.registry)
            for cell in figures.latency.cells {
                for _ in 0..<cell.count { latency.record(Double(cell.value) / 1_000_000) }
            }
        }
        self.violations.increment(by: snapshot.interval.violations.count)
        self.unsent.increment(by: snapshot.interval.unsent)
    }

    private func counter(_ operation: Operation, _ outcome: String) -> Counter {
        Counter(
            label: Self.operations.name,
            dimensions: [("operation", operation.rawValue), ("outcome", outcome)],
            factory: self.registry
        )
    }
}

extension RunMetrics {
    /// The outcome used for all operations without a verdict.
    ///
    /// Their reasons are in the report.
    private static let failed = "failed"
    private static let outcomes = Outcome.answers.map(\.rawValue) + [RunMetrics.failed]

    private static let operationLabel = MetricDefinition.Label("operation", .listed(Operation.allCases.map(\.rawValue)))
    private static let operations = MetricDefinition(
        "pin_load_operations_total",
        .counter,
        "Operations that ended, by kind and outcome.",
        labels: [RunMetrics.operationLabel, MetricDefinition.Label("outcome", .listed(RunMetrics.outcomes))]
    )
    private static let latencies = MetricDefinition(
        "pin_load_latency_seconds",
        .histogram(bounds: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30]),
        "Time from the moment an operation was due to its answer or timeout.",
        labels: [RunMetrics.operationLabel]
    )
    private static let violationCount = MetricDefinition(
        "pin_load_violations_total",
        .counter,
        "Answers that no correct server gives."
    )
    private static let unsentCount = MetricDefinition(
        "pin_load_unsent_total",
        .counter,
        "Operations that were due and not sent, because the maximum number was in flight."
    )

    /// The metrics read from the last interval.
    private static let figures: [(metric: MetricDefinition, of: @Sendable (RunSnapshot) -> Double)] = [
        (
            MetricDefinition("pin_load_repeated_total", .counter, "Checks sent again because no response arrived."),
            { Double($0.repeated) }
        ),
        (
            MetricDefinition("pin_load_connections", .gauge, "Open connections, including idle ones."),
            { Double($0.interval.gauges.connections) }
        ),
        (
            MetricDefinition("pin_load_in_flight", .gauge, "Operations sent and not yet answered."),
            { Double($0.interval.gauges.inFlight) }
        ),
        (
            MetricDefinition("pin_load_waiting", .gauge, "Operations due and not yet sent; 0 in a closed loop."),
            { Double($0.waiting) }
        ),
        (
            MetricDefinition("pin_load_target", .gauge, "Planned connections, or planned operations per second."),
            { $0.load }
        ),
        (
            MetricDefinition("pin_load_failing_thresholds", .gauge, "Thresholds that are not met so far."),
            { Double($0.failing.count) }
        ),
    ]

    /// All metrics, in output order.
    private static let definitions =
        [RunMetrics.operations, RunMetrics.latencies, RunMetrics.violationCount, RunMetrics.unsentCount]
        + RunMetrics.figures.map(\.metric) + MetricDefinition.process
}
