/// Durations as people write them, a whole number followed by a unit: `61s`, `5m`, `1h`.
package enum DurationText {
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]

    /// Reads `250ms`, `61s`, `5m`, `1h` or `2d`; returns nil for anything else, such as a number without a unit.
    package static func read(_ text: String) -> Duration? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let name = text.dropFirst(digits.count).drop { $0 == " " }
        guard let unit = Self.units.first(where: { $0.name == name }), let number = Int64(digits) else { return nil }
        let (milliseconds, overflow) = number.multipliedReportingOverflow(by: unit.milliseconds)
        return overflow ? nil : .milliseconds(milliseconds)
    }

    /// The shortest form in whole units: `1h` instead of `60m`.
    package static func write(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        for unit in Self.units where milliseconds != 0 && milliseconds.isMultiple(of: unit.milliseconds) {
            return "\(milliseconds / unit.milliseconds)\(unit.name)"
        }
        return "\(milliseconds)s"
    }
}
