/// Parses and formats durations as people write them, with a whole number and a unit, such as `61s`, `5m` or `1h`.
package enum DurationText {
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]

    /// Parses a duration such as `250ms`, `61s`, `5m`, `1h` or `2d`.
    ///
    /// Returns nil for anything else, including a number without a unit.
    package static func read(_ text: String) -> Duration? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let name = text.dropFirst(digits.count).drop { $0 == " " }
        guard let unit = Self.units.first(where: { $0.name == name }), let number = Int64(digits) else { return nil }
        let (milliseconds, overflow) = number.multipliedReportingOverflow(by: unit.milliseconds)
        return overflow ? nil : .milliseconds(milliseconds)
    }

    /// Returns the shortest form with a whole number, such as `1h` instead of `60m`.
    package static func write(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        for unit in Self.units where milliseconds != 0 && milliseconds.isMultiple(of: unit.milliseconds) {
            return "\(milliseconds / unit.milliseconds)\(unit.name)"
        }
        return "\(milliseconds)s"
    }
}
