/// Formats numbers with three significant digits and a unit, for human readers.
package enum NumberText {
    /// Formats a time in µs, for example as `870 µs`, `1.24 ms`, `12.4 ms` or `3.05 s`.
    package static func time(microseconds: Double) -> String {
        if microseconds < 999.5 { return "\(Self.digits(microseconds, three: microseconds < 99.95 ? 1 : 0)) µs" }
        if microseconds < 999_500 { return "\(Self.threeDigits(microseconds / 1000)) ms" }
        return "\(Self.threeDigits(microseconds / 1_000_000)) s"
    }

    /// Formats a time in µs, or `–` if unknown.
    package static func time(_ microseconds: UInt64?) -> String {
        microseconds.map { Self.time(microseconds: Double($0)) } ?? "–"
    }

    /// Formats a rate, for example as `12,345/s` or `87.5/s`.
    package static func rate(_ perSecond: Double) -> String {
        (perSecond < 999.5 ? Self.threeDigits(perSecond) : Self.count(Int(exactly: perSecond.rounded()) ?? .max)) + "/s"
    }

    /// Formats a fraction as a percentage; only exactly 0 and 1 are written as 0% and 100%.
    package static func percent(_ share: Double) -> String {
        if share == 0 { return "0%" }
        if share == 1 { return "100%" }
        let percent = share * 100
        if percent < 0.001 { return "<0.001%" }
        if percent > 99.95 { return ">99.9%" }
        return Self.fixed(percent, percent < 0.1 ? 3 : percent < 10 ? 2 : 1) + "%"
    }

    /// Formats a number of bytes, for example as `28.4 MiB`.
    package static func bytes(_ bytes: Double) -> String {
        if bytes < 1024 { return "\(Int(bytes)) B" }
        if bytes < 1_048_576 { return Self.threeDigits(bytes / 1024) + " KiB" }
        if bytes < 1_073_741_824 { return Self.threeDigits(bytes / 1_048_576) + " MiB" }
        return Self.threeDigits(bytes / 1_073_741_824) + " GiB"
    }

    /// Formats a count with thousands separators, for example as `1,234,567`.
    package static func count(_ count: Int) -> String {
        var groups = String(count.magnitude)[...]
        var text = ""
        while groups.count > 3 {
            text = "," + groups.suffix(3) + text
            groups.removeLast(3)
        }
        return (count < 0 ? "−" : "") + groups + text
    }

    static func fixed(_ value: Double, _ decimals: Int) -> String {
        guard value.isFinite else { return value.isNaN ? "nan" : value < 0 ? "-inf" : "inf" }
        let scale = (0..<decimals).reduce(1.0) { scale, _ in scale * 10 }
        let scaled = (value.magnitude * scale).rounded(.toNearestOrEven)
        guard scaled < 9e18 else { return "\(value)" }
        let whole = String(UInt64(scaled))
        let padded = String(repeating: "0", count: max(0, decimals + 1 - whole.count)) + whole
        let sign = value < 0 && scaled > 0 ? "-" : ""
        return decimals == 0 ? sign + whole : sign + padded.dropLast(decimals) + "." + padded.suffix(decimals)
    }

    private static func threeDigits(_ value: Double) -> String {
        let magnitude = value.magnitude
        return Self.fixed(value, magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0)
    }

    private static func digits(_ value: Double, three decimals: Int) -> String {
        value == value.rounded() ? Self.fixed(value, 0) : Self.fixed(value, decimals)
    }
}
