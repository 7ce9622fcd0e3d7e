/// The definition of a metric: its name, kind, help text and labels, for the exposition and docs/metrics.md.
///
/// Only defined metrics are exposed, and only with the label values that their definitions list. This ensures that no
/// code, id or address can appear in the output by mistake, and that the number of series is bounded.
package struct MetricDefinition: Hashable, Sendable {
    /// The type of a metric.
    package enum Kind: Hashable, Sendable {
        /// A count that never decreases while the process is running.
        case counter
        case gauge
        /// Cumulative counts of the values up to each bound, in ascending order; an unbounded bucket is added.
        case histogram(bounds: [Double])
    }

    /// A label and the values that it may have.
    package struct Label: Hashable, Sendable {
        package var name: String
        package var values: Values

        package init(_ name: String, _ values: Values) {
            self.name = name
            self.values = values
        }
    }

    /// The values that a label may have.
    package enum Values: Hashable, Sendable {
        /// Any of these values.
        case listed([String])
        /// A text that the program chooses, such as its version, with one value per process.
        case constant
    }

    /// The name, which ends with the base unit as the conventions of Prometheus require.
    package var name: String
    package var kind: Kind
    /// The help text, which consists of one sentence.
    package var help: String
    package var labels: [Label]

    package init(_ name: String, _ kind: Kind, _ help: String, labels: [Label] = []) {
        self.name = name
        self.kind = kind
        self.help = help
        self.labels = labels
    }

    /// The maximum number of series that the metric can have.
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
    package var name: String {
        switch self {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        }
    }
}
