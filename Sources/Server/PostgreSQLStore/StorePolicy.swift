/// The settings that decide about wallets, as the store keeps them for all servers.
///
/// Invariant (G3): two servers never judge one wallet under different policies. Otherwise the most lenient server would
/// decide for all wallets.
struct StorePolicy: Hashable {
    let values: [String: String]

    init(_ values: [String: String]) {
        self.values = values
    }

    /// Reads the output of ``text``.
    init(reading text: String) {
        self.values = Dictionary(
            text.split(separator: "\n").map { line in
                let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                return (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
            },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// One line for each value, in the order of the names.
    var text: String {
        self.values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)\n" }.joined()
    }

    /// The names of the values that differ, in order.
    func differences(from other: StorePolicy) -> [String] {
        Set(self.values.keys).union(other.values.keys).filter { self.values[$0] != other.values[$0] }.sorted()
    }
}
