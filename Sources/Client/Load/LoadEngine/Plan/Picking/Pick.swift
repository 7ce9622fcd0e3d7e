internal import Glibc

/// The distribution that wallets are chosen from.
package enum Pick: Hashable, Sendable {
    /// All wallets are equally likely.
    case uniform
    /// A Zipf distribution by position in the file: the probability of the k-th wallet is proportional to k^−exponent.
    case zipf(exponent: Double)
    /// A single wallet on all connections, as if it were under attack.
    case single(index: Int)

    /// Parses `uniform`, `zipf:1.1`, `single` or `single:INDEX`.
    package init(parsing text: String, place: String = "--pick") throws(PlanProblem) {
        let parts = text.components(separatedBy: ":")
        switch (parts[0], parts.count) {
        case ("uniform", 1): self = .uniform
        case ("zipf", 2):
            guard let exponent = CountText.readNumber(parts[1]), exponent > 0, exponent <= 10 else {
                throw PlanProblem(place: place, "`zipf:` needs an exponent above 0 and at most 10, such as `zipf:1.1`")
            }
            self = .zipf(exponent: exponent)
        case ("single", 1): self = .single(index: 0)
        case ("single", 2):
            guard let index = CountText.readCount(parts[1]) else {
                throw PlanProblem(place: place, "`single:` needs a wallet's number in the file, from 0")
            }
            self = .single(index: index)
        case (_, _):
            throw PlanProblem(place: place, "`\(text)` is not `uniform`, `zipf:1.1` or `single:INDEX`")
        }
    }

    /// The text form, as parsed by ``init(parsing:place:)``.
    package var text: String {
        switch self {
        case .uniform: "uniform"
        case .zipf(let exponent): "zipf:\(exponent)"
        case .single(let index): "single:\(index)"
        }
    }

    /// Whether several connections may use a wallet at the same time.
    package var sharesWallets: Bool {
        if case .single = self { return true }
        return false
    }
}

/// Chooses wallets by their position in the file, in constant time and memory.
package struct WalletPicker: Sendable {
    private enum Kind: Sendable {
        case uniform(count: Int)
        case zipf(ZipfDistribution)
        case single(Int)
    }

    private let kind: Kind

    /// - Throws: A problem if the file does not contain the wallet.
    package init(_ pick: Pick, among count: Int) throws(PlanProblem) {
        guard count > 0 else { throw PlanProblem(place: "--wallets", "the file contains no wallets") }
        switch pick {
        case .uniform: self.kind = .uniform(count: count)
        case .zipf(let exponent): self.kind = .zipf(ZipfDistribution(count: count, exponent: exponent))
        case .single(let index):
            guard index < count else {
                throw PlanProblem(place: "--pick", "there is no wallet \(index): the file has \(count), from 0")
            }
            self.kind = .single(index)
        }
    }

    package func next(using generator: inout PlanGenerator) -> Int {
        switch self.kind {
        case .uniform(let count): generator.next(below: count)
        case .zipf(let distribution): distribution.next(using: &generator) - 1
        case .single(let index): index
        }
    }
}

/// An exact Zipf distribution over the ranks `1...count`: the probability of rank k is proportional to k^−exponent.
///
/// Uses rejection-inversion (W. Hörmann, G. Derflinger: Rejection-inversion to generate variates from monotone
/// discrete distributions, 1996), which needs no table and fewer than 1.2 tries per draw on average. The cost is
/// therefore independent of the number of wallets.
struct ZipfDistribution: Hashable, Sendable {
    private let count: Int
    private let exponent: Double
    private let integralOfFirst: Double
    private let integralOfLast: Double
    /// If a point is this close to its rank, it is accepted without evaluating the integral.
    private let shortcut: Double

    /// - Precondition: Both values are positive.
    init(count: Int, exponent: Double) {
        precondition(count > 0 && exponent > 0, "the distribution needs a rank and a positive exponent")
        self.count = count
        self.exponent = exponent
        self.integralOfFirst = Self.integral(1.5, exponent) - 1
        self.integralOfLast = Self.integral(Double(count) + 0.5, exponent)
        self.shortcut = 2 - Self.inverse(Self.integral(2.5, exponent) - Self.density(2, exponent), exponent)
    }

    func next(using generator: inout PlanGenerator) -> Int {
        while true {
            let area = self.integralOfLast + generator.nextUnit() * (self.integralOfFirst - self.integralOfLast)
            let point = Self.inverse(area, self.exponent)
            // A draw very close to 0 may put the point beyond the last rank.
            let rank = Int(min(max(point + 0.5, 1), Double(self.count)))
            let whole = Double(rank)
            if whole - point <= self.shortcut
                || area >= Self.integral(whole + 0.5, self.exponent) - Self.density(whole, self.exponent)
            {
                return rank
            }
        }
    }

    /// Returns x^−exponent.
    private static func density(_ x: Double, _ exponent: Double) -> Double { exp(-exponent * log(x)) }

    /// Returns the integral of the density, (x^(1−exponent) − 1) / (1 − exponent), or log x if the exponent is 1.
    private static func integral(_ x: Double, _ exponent: Double) -> Double {
        let logarithm = log(x)
        return Self.expm1Ratio((1 - exponent) * logarithm) * logarithm
    }

    private static func inverse(_ area: Double, _ exponent: Double) -> Double {
        // Rounding may push the product out of the logarithm's domain, which ends at −1.
        let product = max(area * (1 - exponent), -1)
        return exp(Self.log1pRatio(product) * area)
    }

    /// Returns log(1 + x) / x, accurate even near 0.
    private static func log1pRatio(_ x: Double) -> Double {
        abs(x) > 1e-8 ? log1p(x) / x : 1 - x * (0.5 - x * (1.0 / 3 - 0.25 * x))
    }

    /// Returns (exp x − 1) / x, accurate even near 0.
    private static func expm1Ratio(_ x: Double) -> Double {
        abs(x) > 1e-8 ? expm1(x) / x : 1 + x * 0.5 * (1 + x * (1.0 / 3) * (1 + 0.25 * x))
    }
}
