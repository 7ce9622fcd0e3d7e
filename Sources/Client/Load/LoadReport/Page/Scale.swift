internal import Foundation

/// Maps values to positions on an axis, and provides the values for its ticks.
struct Scale {
    let lower: Double
    let upper: Double
    let isLogarithmic: Bool
    let ticks: [Double]

    /// Returns the position on the axis, from 0 at its start to 1 at its end.
    func place(of value: Double) -> Double {
        let place =
            if self.isLogarithmic {
                (log10(max(value, self.lower)) - log10(self.lower)) / (log10(self.upper) - log10(self.lower))
            } else {
                (value - self.lower) / (self.upper - self.lower)
            }
        return min(max(place, 0), 1)
    }

    /// Creates an axis from 0 to a round number, with at most five steps.
    static func linear(upTo highest: Double) -> Scale {
        let highest = highest > 0 ? highest : 1
        let magnitude = pow(10, (log10(highest / 5)).rounded(.down))
        let step = [1, 2, 2.5, 5, 10].map { $0 * magnitude }.first { highest / $0 <= 5.000_001 } ?? 10 * magnitude
        let steps = Int((highest / step - 1e-9).rounded(.up))
        return Scale(
            lower: 0,
            upper: Double(max(steps, 1)) * step,
            isLogarithmic: false,
            ticks: (0...max(steps, 1)).map { Double($0) * step }
        )
    }

    /// Creates an axis from a power of ten to the next 1, 2 or 5 times a power of ten above the highest value.
    static func logarithmic(from lowest: Double, to highest: Double) -> Scale {
        let lowest = max(lowest, 1)
        let lower = pow(10, log10(lowest).rounded(.down))
        let wanted = max(highest, lowest * 1.01)
        var candidates: [Double] = []
        for exponent in 0...12 {
            candidates += [1.0, 2, 5].map { $0 * lower * pow(10, Double(exponent)) }
        }
        let upper = candidates.first { $0 >= wanted && $0 > lower } ?? wanted
        let inside = candidates.filter { $0 <= upper * 1.000_001 }
        let decades = inside.filter { Self.isPowerOfTen($0) }
        return Scale(lower: lower, upper: upper, isLogarithmic: true, ticks: inside.count <= 7 ? inside : decades)
    }

    private static func isPowerOfTen(_ value: Double) -> Bool {
        let exponent = log10(value)
        return (exponent - exponent.rounded()).magnitude < 1e-6
    }

    /// Creates an axis in seconds with ticks at round clock times.
    static func time(from start: Double, to end: Double) -> Scale {
        let steps: [Double] = [
            1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400,
        ]
        let end = end > start ? end : start + 1
        let step = steps.first { (end - start) / $0 <= 6 } ?? (end - start) / 5
        let first = (start / step).rounded(.up) * step
        return Scale(
            lower: start,
            upper: end,
            isLogarithmic: false,
            ticks: Array(stride(from: first, through: end + 1e-9, by: step))
        )
    }

    /// Formats a time as `40 s`, `1:30`, `5 min` or `2 h`, depending on the length of the run.
    static func timeLabel(_ seconds: Double, of scale: Scale) -> String {
        let whole = Int(seconds.rounded())
        if scale.upper <= 120 { return whole == 0 ? "0" : "\(whole) s" }
        if whole == 0 { return "0" }
        if whole.isMultiple(of: 3600) { return "\(whole / 3600) h" }
        if whole.isMultiple(of: 60), whole < 3600 { return "\(whole / 60) min" }
        let minutes = (whole % 3600) / 60
        if whole >= 3600 { return "\(whole / 3600):\(Self.twoDigits(minutes)) h" }
        return "\(minutes):\(Self.twoDigits(whole % 60))"
    }

    private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
