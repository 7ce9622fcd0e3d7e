/// Formats the registry in the Prometheus text exposition format 0.0.4.
///
///     # HELP name …
///     # TYPE name counter
///     name{label="value"} 1
package enum Exposition {
    /// The media type of the text returned by ``text(of:)``.
    package static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

    /// Returns all series in catalog order.
    package static func text(of registry: MetricRegistry) -> String {
        var text = ""
        for definition in registry.definitions {
            var lines = ""
            for (labels, instrument) in registry.series(of: definition.name) {
                lines += Self.lines(definition.name, labels, instrument)
            }
            guard !lines.isEmpty else { continue }
            text += "# HELP \(definition.name) \(Self.escaped(definition.help, isLabel: false))\n"
            text += "# TYPE \(definition.name) \(definition.kind.name)\n"
            text += lines
        }
        return text
    }

    private static func lines(_ name: String, _ labels: String, _ instrument: MetricRegistry.Instrument) -> String {
        switch instrument {
        case .count(let cell): return "\(name)\(labels) \(Self.number(cell.value))\n"
        case .level(let cell): return "\(name)\(labels) \(Self.number(cell.value))\n"
        case .probe(let value): return value().map { "\(name)\(labels) \(Self.number($0))\n" } ?? ""
        case .histogram(let cell):
            let (upTo, count, sum) = cell.state
            let others = labels.isEmpty ? "" : labels.dropFirst().dropLast() + ","
            var lines = ""
            for (bound, below) in zip(cell.bounds, upTo) {
                lines += "\(name)_bucket{\(others)le=\"\(Self.number(bound))\"} \(below)\n"
            }
            lines += "\(name)_bucket{\(others)le=\"+Inf\"} \(count)\n"
            lines += "\(name)_sum\(labels) \(Self.number(sum))\n"
            return lines + "\(name)_count\(labels) \(count)\n"
        }
    }

    /// Formats a number, omitting the fraction if it is a whole number.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if let whole = Int64(exactly: value) { return "\(whole)" }
        return "\(value)"
    }

    /// Escapes a label value or a help text as required by the format.
    ///
    /// Other control characters are replaced too, so that the text cannot break out of its field or line.
    static func escaped(_ text: String, isLabel: Bool) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where isLabel: result += "\\\""
            case _ where scalar.properties.generalCategory == .control: result += "\u{FFFD}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
