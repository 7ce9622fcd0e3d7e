/// The settings that affect decisions about wallets, as the store keeps them for all servers.
///
/// Invariant (G3): two servers never judge the same wallet under different policies. Otherwise, the most lenient server
/// would decide for all wallets.
struct StorePolicy: Hashable {
    let values: [String: String]

    init(_ values: [String: String]) {
        self.values = values
    }

    /// Parses the output of ``text``.
    init(reading text: String) {
        self.values = Dictionary(
            text.split(separator: "\n").map { line in
                let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                return (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
            },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// One line per value, sorted by name.
    var text: String {
        self.values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)\n" }.joined()
    }

    /// The values that differ from the store's, sorted by name.
    func differences(from kept: StorePolicy) -> [PolicyDifference] {
        Set(self.values.keys).union(kept.values.keys).sorted().compactMap { name in
            let (here, kept) = (self.values[name], kept.values[name])
            return here == kept ? nil : PolicyDifference(name: name, kept: kept, here: here)
        }
    }
}

/// A setting whose value differs from the one that the store keeps for all its servers.
package struct PolicyDifference: Hashable, Sendable, Encodable {
    package let name: String
    /// The store's value, or nil if it has none.
    package let kept: String?
    /// This server's value, or nil if it has none.
    package let here: String?
}

extension PolicyDifference: CustomStringConvertible {
    package var description: String { "\(self.name) is \(self.here ?? "missing") here, not \(self.kept ?? "missing")" }
}
