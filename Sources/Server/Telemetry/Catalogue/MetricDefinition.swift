/// What a metric is: name, kind, help and labels, as the exposition and docs/metrics.md tell it.
///
/// Nothing is exposed that has no definition, and no label has a value that its definition does not list. So no code, no
/// id and no address can come into the output by mistake, and the number of series is known beforehand.
package struct MetricDefinition: Hashable, Sendable {
    /// How its values behave.
    package enum Kind: Hashable, Sendable {
        /// Only grows while the process lives.
        case counter
        case gauge
        /// Counts of values up to each of these bounds, ascending; one more, without a bound, is added.
        case histogram(bounds: [Double])
    }

    /// A label and what it may say.
    package struct Label: Hashable, Sendable {
        package var name: String
        package var values: Values

        package init(_ name: String, _ values: Values) {
            self.name = name
            self.values = values
        }
    }

    /// What a label may say.
    package enum Values: Hashable, Sendable {
        /// One of these.
        case listed([String])
        /// A text that is the program's own, as its version: one value for the whole life of the process.
        case constant
    }

    /// In the base unit that it ends with, by Prometheus' conventions.
    package var name: String
    package var kind: Kind
    /// One sentence.
    package var help: String
    package var labels: [Label]

    package init(_ name: String, _ kind: Kind, _ help: String, labels: [Label] = []) {
        self.name = name
        self.kind = kind
        self.help = help
        self.labels = labels
    }

    /// The most series that there can be.
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
    /// As the exposition and the page of the manual name it.
    var name: String {
        switch self {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        }
    }
}
