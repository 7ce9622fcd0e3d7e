/// The definition of a metric: name, kind, help and labels, for the exposition and docs/metrics.md.
///
/// Only defined metrics are exposed, with only the label values that their definitions list. So no
/// code, id or address can appear in the output by mistake, and the number of series is bounded.
package struct MetricDefinition: Hashable, Sendable {
    /// The type of a metric.
    package enum Kind: Hashable, Sendable {
        /// A count that never decreases during a process's life.
        case counter
        case gauge
        /// Cumulative counts of values up to each ascending bound; an unbounded bucket is added.
        case histogram(bounds: [Double])
    }

    /// A label and its allowed values.
    package struct Label: Hashable, Sendable {
        package var name: String
        package var values: Values

        package init(_ name: String, _ values: Values) {
            self.name = name
            self.values = values
        }
    }

    /// The allowed values of a label.
    package enum Values: Hashable, Sendable {
        /// Any of these values.
        case listed([String])
        /// A text chosen by the program, such as its version: one value per process.
        case constant
    }

    /// The name, which ends with the base unit as Prometheus' conventions require.
    package var name: String
    package var kind: Kind
    /// The help text, one sentence.
    package var help: String
    package var labels: [Label]

    package init(_ name: String, _ kind: Kind, _ help: String, labels: [Label] = []) {
        self.name = name
        self.kind = kind
        self.help = help
        self.labels = labels
    }

    /// The maximum number of series.
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
    /// The name used in the exposition and in docs/metrics.md.
    var name: String {
        switch self {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        }
    }
}
