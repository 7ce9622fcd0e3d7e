/// The definition of a metric, with its name, kind, help text and labels.
///
/// Used for the exposition and docs/metrics.md.
///
/// Only defined metrics are exposed, and only with the label values listed in their definitions. This ensures that no
/// code, id or address can end up in the output by mistake, and that the number of series is bounded.
package struct MetricDefinition: Hashable, Sendable {
    /// The type of a metric.
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

    /// The possible values of a label.
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
