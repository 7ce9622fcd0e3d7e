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
        case ("uniform", 1):
            self = .uniform
        case ("zipf", 2):
            guard let exponent = CountText.readNumber(parts[1]), exponent > 0, exponent <= 10 else {
                throw PlanProblem(place: place, "`zipf:` needs an exponent above 0 and at most 10, such as `zipf:1.1`")
            }
            self = .zipf(exponent: exponent)
        case ("single", 1):
            self = .single(index: 0)
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
