package import CoreMetrics
internal import Synchronization

/// The metrics of one process: what swift-metrics hands values to, and what a scrape reads.
///
/// A series is made once, under a lock, and then found by whoever kept it: counting takes no lock, no look-up and no
/// memory. What is not as the ``MetricCatalogue`` says is not exposed; its caller gets a series that goes nowhere, and
/// ``onFault`` hears of it.
package final class MetricRegistry: MetricsFactory {
    /// Series in all; far more than the catalogue allows, so that this holds whatever is added to it.
    package static let mostSeries = 2_000
    /// Of a label's value.
    static let longestValue = 100

    enum Instrument: Sendable {
        case count(CountCell)
        case level(LevelCell)
        case histogram(HistogramCell)
        /// Asked at each scrape; nothing is told where it is nil.
        case probe(@Sendable () -> Double?)
    }

    private struct State {
        /// By metric and labels, the labels as they are written.
        var series: [String: [String: Instrument]] = [:]
        var count = 0
    }

    let definitions: [MetricDefinition]
    private let byName: [String: MetricDefinition]
    private let onFault: @Sendable (String, MetricFault) -> Void
    private let faults: [MetricFault: CountCell]
    private let state = Mutex(State())

    /// - Parameter onFault: told the metric's name and what is wrong with it, for the log; a fault of the program.
    package init(
        _ definitions: [MetricDefinition] = MetricCatalogue.all,
        onFault: @escaping @Sendable (String, MetricFault) -> Void = { _, _ in }
    ) {
        self.definitions = definitions
        self.byName = Dictionary(definitions.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        self.onFault = onFault
        var faults: [MetricFault: CountCell] = [:]
        for fault in MetricFault.allCases {
            let cell = CountCell()
            faults[fault] = cell
            self.state.withLock { state in
                state.series["remote_pin_metrics_refused_total", default: [:]]["{reason=\"\(fault.rawValue)\"}"] =
                    .count(cell)
            }
        }
        self.faults = faults
    }

    /// How many series were refused.
    package var refusedSeries: Int { Int(self.faults.values.reduce(0) { $0 + $1.value }) }

    /// Has a value asked for at each scrape; on the thread that scrapes, which may wait a little and not for long.
    package func probe(
        _ name: String,
        _ labels: [(String, String)] = [],
        _ value: @escaping @Sendable () -> Double?
    ) {
        _ = self.series(name, labels) { _ in .probe(value) }
    }

    /// The series of a metric as they are written, with their labels, sorted.
    func series(of name: String) -> [(labels: String, instrument: Instrument)] {
        self.state.withLock { $0.series[name] ?? [:] }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// The series of this name and these labels, made where there is none; nil, and a fault told, where there may be none.
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
                // A probe takes the place of an earlier one; a cell is shared by all who ask for it.
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

    /// The labels as they stand behind a name; nil where they are not the definition's.
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
        let made = self.series(label, dimensions) { $0.kind == .counter ? .count(CountCell()) : nil }
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
            case (.gauge, false): .level(LevelCell())
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
        let made = self.series(label, dimensions) { $0.kind == .gauge ? .level(LevelCell()) : nil }
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

    // A series stays until the process ends: one that vanished would look to Prometheus like one that never was.
    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}
}
