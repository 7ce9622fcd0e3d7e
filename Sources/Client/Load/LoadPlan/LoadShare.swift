/// One machine's share of a load that several machines generate together.
///
/// Together, the shares are equal to the load of a single machine: the same arrivals, connections and wallets.
package struct LoadShare: Hashable, Sendable {
    /// From 1 to ``count``.
    package let number: Int
    package let count: Int

    /// The load of a single machine.
    package static let whole = LoadShare(number: 1, count: 1)

    /// The minimum and maximum number of machines.
    private static let allowedCounts = 1...1000

    private init(number: Int, count: Int) {
        self.number = number
        self.count = count
    }

    /// Parses a share such as `2/4`, the second of four.
    ///
    /// - Parameter place: The option's name, for error messages.
    package init(parsing text: String, place: String) throws(PlanProblem) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let number = parts[0], let count = parts[1], Self.allowedCounts.contains(count),
            (1...count).contains(number)
        else {
            throw PlanProblem(place: place, "`\(text)` is not a part; write 1/4 to 4/4 on four machines")
        }
        self.init(number: number, count: count)
    }

    package var text: String { "\(self.number)/\(self.count)" }

    /// The items of `total` that belong to this share.
    ///
    /// The sizes of the shares differ by at most one.
    package func range(of total: Int) -> Range<Int> {
        total * (self.number - 1) / self.count..<total * self.number / self.count
    }

    /// The number of items of `total` that belong to this share.
    package func size(of total: Int) -> Int { self.range(of: total).count }
}
