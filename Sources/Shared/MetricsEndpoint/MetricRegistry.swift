package import CoreMetrics
internal import Synchronization

/// The metrics of a process.
///
/// This is the backend for swift-metrics and the source of a scrape.
///
/// A series is created once, under a lock, and then kept by its caller, so that counting does not require a lock, a
/// lookup or an allocation. A series that does not match the catalog is not exposed. In that case, its caller gets a
/// no-op instrument and ``onFault`` is called.
package final class MetricRegistry: MetricsFactory {
    /// The maximum total number of series.
    ///
    /// This is far above the catalog's total, so it does not have to be changed when metrics are added.
    package static let mostSeries = 2_000
    /// The maximum length of a label value in bytes.
    static let longestValue = 100

    enum Instrument: Sendable {
        case count(CounterCell)
        case level(GaugeCell)
        case histogram(HistogramCell)
        /// A value that is read on every scrape.
        ///
        /// The series is omitted if it is nil.
        case probe(@Sendable () -> Double?)
    }

    private struct State {
        /// The series, keyed by metric name and formatted labels.
        var series: [String: [String: Instrument]] = [:]
        var count = 0
    }

    let definitions: [MetricDefinition]
    private let byName: [String: MetricDefinition]
    private let onFault: @Sendable (String, MetricFault) -> Void
    private let faults: [MetricFault: CounterCell]
    private let state = Mutex(State())

    /// - Parameters:
    ///   - definitions: The catalog, in exposition order.
    ///   - onFault: Called with the metric name and the fault, for logging. A fault is a bug in the program.
    package init(
        _ definitions: [MetricDefinition],
        onFault: @escaping @Sendable (String, MetricFault) -> Void = { _, _ in }
    ) {
        self.definitions = definitions
        self.byName = Dictionary(definitions.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        self.onFault = onFault
        var faults: [MetricFault: CounterCell] = [:]
        for fault in MetricFault.allCases {
            let cell = CounterCell()
            faults[fault] = cell
            self.state.withLock { state in
                state.series[MetricDefinition.faults.name, default: [:]]["{reason=\"\(fault.rawValue)\"}"] =
                    .count(cell)
            }
        }
        self.faults = faults
    }

    /// The number of series that have been rejected.
    package var refusedSeries: Int { Int(self.faults.values.reduce(0) { $0 + $1.value }) }

    /// Registers a value that is read on every scrape, on the scraping thread.
    ///
    /// It must not block for long.
    package func probe(_ name: String, _ labels: [(String, String)] = [], _ value: @escaping @Sendable () -> Double?) {
        _ = self.series(name, labels) { _ in .probe(value) }
    }

    /// Returns a metric's series with their formatted labels, sorted by label.
    func series(of name: String) -> [(labels: String, instrument: Instrument)] {
        self.state.withLock { $0.series[name] ?? [:] }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Returns the series with this name and these labels, creating it if necessary.
    ///
    /// Records a fault and returns nil if the series is not allowed by the catalog or the limit.
    private func series(
        _ name: String,
        _ labels: [(String, String)],
        _ make: (MetricDefinition) -> Instrument?
    ) -> Instrument? {
        guard let definition = self.byName[name] else { return self.fault(name, .unknown) }
        guard let written = Self.written(labels, as: definition) else { return self.fault(name, .labels) }
        guard let fresh = make(definition) else { return self.fault(name, .kind) }
        let instrument: Instrument? = self.state.withLock { state in
            if let known = state.series[name]?[written] {
                // A new probe replaces the previous one, whereas a cell is shared by all callers.
                if case .probe = fresh { state.series[name]?[written] = fresh }
                return known
            }
            guard state.count < Self.mostSeries else { return nil }
            state.count += 1
            state.series[name, default: [:]][written] = fresh
            return fresh
        }
        return instrument ?? self.fault(name, .limit)
    }

    private func fault(_ name: String, _ fault: MetricFault) -> Instrument? {
        self.faults[fault]?.increment(by: 1)
        self.onFault(name, fault)
        return nil
    }

    /// Formats the labels for the exposition, or returns nil if they do not match the definition.
    static func written(_ labels: [(String, String)], as definition: MetricDefinition) -> String? {
        guard labels.count == definition.labels.count else { return nil }
        var parts: [String] = []
        for label in definition.labels {
            guard let value = labels.first(where: { $0.0 == label.name })?.1 else { return nil }
            switch label.values {
            case .listed(let values): guard values.contains(value) else { return nil }
            case .constant: guard value.utf8.count <= Self.longestValue else { return nil }
            }
            parts.append("\(label.name)=\"\(Exposition.escaped(value, isLabel: true))\"")
        }
        return parts.isEmpty ? "" : "{\(parts.joined(separator: ","))}"
    }
}

extension MetricRegistry {
    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        let made = self.series(label, dimensions) { $0.kind == .counter ? .count(CounterCell()) : nil }
        guard case .count(let cell) = made else { return NOOPMetricsHandler.instance }
        return cell
    }

    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        let made = self.series(label, dimensions) { definition in
            switch (definition.kind, aggregate) {
            case (.histogram(let bounds), true): .histogram(HistogramCell(bounds: bounds))
            case (.gauge, false): .level(GaugeCell())
            case (.histogram, false), (.gauge, true), (.counter, _): nil
            }
        }
        switch made {
        case .histogram(let cell): return cell
        case .level(let cell): return cell
        case .count, .probe, nil: return NOOPMetricsHandler.instance
        }
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        let made = self.series(label, dimensions) { $0.kind == .gauge ? .level(GaugeCell()) : nil }
        guard case .level(let cell) = made else { return NOOPMetricsHandler.instance }
        return cell
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        let made = self.series(label, dimensions) { definition in
            guard case .histogram(let bounds) = definition.kind else { return nil }
            return .histogram(HistogramCell(bounds: bounds))
        }
        guard case .histogram(let cell) = made else { return NOOPMetricsHandler.instance }
        return cell
    }

    // Series are kept until the process ends, because Prometheus could not tell a removed series from one that has
    // never existed.
    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}
}

/// The reason for not exposing a series.
///
/// Each case states how to fix it.
package enum MetricFault: String, Hashable, Sendable, CaseIterable {
    /// The metric is not in the catalog.
    ///
    /// Add it.
    case unknown
    /// The instrument is not of the kind declared in the catalog.
    ///
    /// Use the declared kind.
    case kind
    /// The labels or their values differ from those in the catalog.
    ///
    /// Use the declared ones.
    case labels
    /// The process has more series than ``MetricRegistry/mostSeries``.
    case limit
}

extension MetricDefinition {
    /// The number of series that ``MetricRegistry`` does not expose.
    package static let faults = MetricDefinition(
        "remote_pin_metrics_refused_total",
        .counter,
        "Series not exposed because they do not match the catalog, by fault; a bug in the program.",
        labels: [MetricDefinition.Label("reason", .listed(MetricFault.allCases.map(\.rawValue)))]
    )
}

/// The definition of a metric, with its name, kind, help text and labels.
///
/// Used for the exposition and docs/metrics.md.
///
/// Only defined metrics are exposed, and only with the label values listed in their definitions. This ensures that no
/// code, id or address can end up in the output by mistake, and that the number of series is bounded.
package struct MetricDefinition: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// A count that never decreases while the process is running.
        case counter
        case gauge
        /// Cumulative counts of the values up to each bound.
        ///
        /// Bounds are in ascending order, and an unbounded bucket is added.
        case histogram(bounds: [Double])
    }

    /// A label and its possible values.
    package struct Label: Hashable, Sendable {
        package var name: String
        package var values: Values

        package init(_ name: String, _ values: Values) {
            self.name = name
            self.values = values
        }
    }

    package enum Values: Hashable, Sendable {
        /// One of the given values.
        case listed([String])
        /// A text chosen by the program, such as its version.
        ///
        /// It has a single value per process.
        case constant
    }

    /// The name.
    ///
    /// It ends with the base unit, as required by the Prometheus naming conventions.
    package var name: String
    package var kind: Kind
    /// The help text, in a single sentence.
    package var help: String
    package var labels: [Label]

    package init(_ name: String, _ kind: Kind, _ help: String, labels: [Label]) {
        self.name = name
        self.kind = kind
        self.help = help
        self.labels = labels
    }

    /// Creates a metric whose labels have listed values.
    package init(_ name: String, _ kind: Kind, _ help: String, labels: KeyValuePairs<String, [String]> = [:]) {
        self.init(name, kind, help, labels: labels.map { Label($0, .listed($1)) })
    }

    /// The maximum number of series for the metric.
    package var mostSeries: Int {
        self.labels.reduce(1) { count, label in
            switch label.values {
            case .listed(let values): count * values.count
            case .constant: count
            }
        }
    }
}

extension MetricDefinition.Kind {
    /// The name of the kind, as used in the exposition and in docs/metrics.md.
    package var name: String {
        switch self {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        }
    }
}

/// A counter that many threads can increment, at the cost of one atomic addition each.
final class CounterCell: CounterHandler {
    private let count = Atomic<Int64>(0)

    var value: Double { Double(self.count.load(ordering: .relaxed)) }

    /// Adds to the counter, ignoring amounts below 1 because a decreasing counter would look like a restart.
    func increment(by amount: Int64) {
        guard amount > 0 else { return }
        self.count.wrappingAdd(amount, ordering: .relaxed)
    }

    func reset() { self.count.store(0, ordering: .relaxed) }
}

/// A gauge that many threads can set or change.
final class GaugeCell: RecorderHandler, MeterHandler {
    private let bits = Atomic<UInt64>(0)

    var value: Double { Double(bitPattern: self.bits.load(ordering: .relaxed)) }

    func record(_ value: Int64) { self.set(Double(value)) }
    func record(_ value: Double) { self.set(value) }
    func set(_ value: Int64) { self.set(Double(value)) }
    func set(_ value: Double) { self.bits.store(value.bitPattern, ordering: .relaxed) }
    func increment(by amount: Double) { self.bits.add(amount) }
    func decrement(by amount: Double) { self.bits.add(-amount) }
}

/// A histogram that many threads can update, at the cost of two atomic additions each.
///
/// The total count is computed from the buckets, so that the two always match within a scrape. The sum may be ahead or
/// behind by a few values.
final class HistogramCell: RecorderHandler, TimerHandler {
    private final class Count: Sendable {
        let value = Atomic<UInt64>(0)
    }

    let bounds: [Double]
    /// A count for each bound, and one for larger values.
    private let counts: [Count]
    private let total = Atomic<UInt64>(0)

    init(bounds: [Double]) {
        self.bounds = bounds
        self.counts = (0...bounds.count).map { _ in Count() }
    }

    func record(_ value: Int64) { self.record(Double(value)) }

    func record(_ value: Double) {
        guard value.isFinite else { return }
        var place = 0
        while place < self.bounds.count, value > self.bounds[place] { place += 1 }
        self.counts[place].value.wrappingAdd(1, ordering: .relaxed)
        self.total.add(value)
    }

    func recordNanoseconds(_ duration: Int64) { self.record(Double(duration) / 1_000_000_000) }

    /// The cumulative count for each bound, the total count, and the sum.
    var state: (upTo: [UInt64], count: UInt64, sum: Double) {
        var (upTo, count): ([UInt64], UInt64) = ([], 0)
        for cell in self.counts {
            count += cell.value.load(ordering: .relaxed)
            upTo.append(count)
        }
        return (upTo.dropLast(), count, Double(bitPattern: self.total.load(ordering: .relaxed)))
    }
}

extension Atomic<UInt64> {
    /// Adds to a floating-point number that is stored as a bit pattern.
    fileprivate func add(_ amount: Double) {
        var bits = self.load(ordering: .relaxed)
        while true {
            let sum = Double(bitPattern: bits) + amount
            let (exchanged, original) = self.weakCompareExchange(
                expected: bits,
                desired: sum.bitPattern,
                ordering: .relaxed
            )
            if exchanged { return }
            bits = original
        }
    }
}
