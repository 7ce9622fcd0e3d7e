internal import Glibc

/// Ranks `1...count`, rank k with a probability in proportion to k^−exponent, exactly.
///
/// Rejection-inversion (W. Hörmann, G. Derflinger: Rejection-inversion to generate variates from monotone discrete
/// distributions, 1996): no table, and on average fewer than 1.2 tries for each, so that ten million wallets cost what ten do.
struct ZipfDistribution: Hashable, Sendable {
    private let count: Int
    private let exponent: Double
    private let integralOfFirst: Double
    private let integralOfLast: Double
    /// What lies this close to its integer is accepted without a look at the integral.
    private let shortcut: Double

    /// - Precondition: both are positive.
    init(count: Int, exponent: Double) {
        precondition(count > 0 && exponent > 0, "a distribution over something, that falls")
        self.count = count
        self.exponent = exponent
        self.integralOfFirst = Self.integral(1.5, exponent) - 1
        self.integralOfLast = Self.integral(Double(count) + 0.5, exponent)
        self.shortcut =
            2 - Self.inverse(Self.integral(2.5, exponent) - Self.density(2, exponent), exponent)
    }

    func next(using generator: inout PlanGenerator) -> Int {
        while true {
            let area =
                self.integralOfLast + generator.nextUnit() * (self.integralOfFirst - self.integralOfLast)
            let point = Self.inverse(area, self.exponent)
            // A draw of nearly nothing may put the point beyond every number.
            let rank = Int(min(max(point + 0.5, 1), Double(self.count)))
            let whole = Double(rank)
            if whole - point <= self.shortcut
                || area >= Self.integral(whole + 0.5, self.exponent) - Self.density(whole, self.exponent)
            {
                return rank
            }
        }
    }

    /// x^−exponent.
    private static func density(_ x: Double, _ exponent: Double) -> Double { exp(-exponent * log(x)) }

    /// An integral of the density, (x^(1−exponent) − 1) / (1 − exponent), and log x where the exponent is 1.
    private static func integral(_ x: Double, _ exponent: Double) -> Double {
        let logarithm = log(x)
        return Self.expm1Ratio((1 - exponent) * logarithm) * logarithm
    }

    private static func inverse(_ area: Double, _ exponent: Double) -> Double {
        // Rounding may put it a little beyond −1, where there is no logarithm.
        let product = max(area * (1 - exponent), -1)
        return exp(Self.log1pRatio(product) * area)
    }

    /// log(1 + x) / x, also near 0.
    private static func log1pRatio(_ x: Double) -> Double {
        abs(x) > 1e-8 ? log1p(x) / x : 1 - x * (0.5 - x * (1.0 / 3 - 0.25 * x))
    }

    /// (exp x − 1) / x, also near 0.
    private static func expm1Ratio(_ x: Double) -> Double {
        abs(x) > 1e-8 ? expm1(x) / x : 1 + x * 0.5 * (1 + x * (1.0 / 3) * (1 + 0.25 * x))
    }
}
