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
    package func probe(
        _ name: String,
        _ labels: [(String, String)] = [],
        _ value: @escaping @Sendable () -> Double?
    ) {
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

    package func makeRecorder(
        label: String,
        dimensions: [(String, String)],
        aggregate: Bool
    ) -> any RecorderHandler {
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
