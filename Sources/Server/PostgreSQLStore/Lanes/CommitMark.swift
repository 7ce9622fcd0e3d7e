package import HostSystem

/// A thread of the store that commits, with its own numbers.
package enum CommitLane: String, CaseIterable, Sendable {
    case judging
    case transactions
}

/// The last commits that the database confirmed to a server, as recorded by the server in a file next to its audit log.
///
/// It is a line of fixed length, overwritten in place: `remote-pin commits 1`, epoch, numbers and name, and the same
/// bytes again. A mark whose halves differ was only partly written because of a power failure, and is ignored.
package struct CommitMark: Hashable, Sendable {
    package let server: String
    /// The store's epoch.
    ///
    /// Numbers from an earlier epoch are compared with those that the later epoch took into account.
    package var epoch: Int64 = 1
    package var numbers: [CommitLane: Int64] = [:]

    private static let form = "remote-pin commits 1"
    private static let byteCount = 320

    package init(server: String) {
        self.server = server
    }

    /// The path of the mark of a server with this audit log.
    package static func path(ofAuditLog path: String) -> String { path + ".commits" }

    /// The number of commits.
    package var total: UInt64 { self.numbers.values.reduce(0) { $0 &+ UInt64(bitPattern: $1) } }

    /// Returns whether a store with these numbers has the commits in another mark, or charges for their loss.
    ///
    /// Invariant (G3, G7): a later epoch alone does not excuse a loss. Its charge was computed from the commits known
    /// to the epoch command. A server that was cut off at that time may have confirmed further attempts and
    /// revocations.
    ///
    /// - Parameter accounted: The commits of the other mark's epoch that later epochs took into account.
    func contains(_ other: CommitMark, _ accounted: AccountedCommits?) -> Bool {
        guard self.epoch <= other.epoch else {
            return accounted.map { AccountedCommits(other).missing(in: $0) == 0 } ?? (other.total == 0)
        }
        guard self.epoch == other.epoch else { return false }
        return other.numbers.allSatisfy { lane, number in self.numbers[lane, default: 0] >= number }
    }

    /// Takes the higher numbers; returns whether any of them changed.
    mutating func raise(to other: CommitMark) -> Bool {
        guard other.epoch >= self.epoch else { return false }
        let before = self
        if other.epoch > self.epoch { (self.epoch, self.numbers) = (other.epoch, [:]) }
        self.numbers.merge(other.numbers) { max($0, $1) }
        return self != before
    }

    func encoded() -> [UInt8] {
        let numbers = CommitLane.allCases.map { "\(self.numbers[$0, default: 0])" }.joined(separator: " ")
        let text = "\(Self.form) \(self.epoch) \(numbers) \(self.server)"
        let line = Array("\(text)|\(text)".utf8)
        return line + [UInt8](repeating: 0x20, count: Self.byteCount - 1 - line.count) + [0x0A]
    }

    init?(decoding bytes: [UInt8]) {
        let halves = String(decoding: bytes, as: UTF8.self).split(separator: "|", omittingEmptySubsequences: false)
        guard bytes.count == Self.byteCount, halves.count == 2, halves[1].hasPrefix(halves[0]),
            halves[1].dropFirst(halves[0].count).allSatisfy(\.isWhitespace), halves[0].hasPrefix(Self.form)
        else { return nil }
        let words = halves[0].dropFirst(Self.form.count).split(separator: " ")
        guard words.count == 2 + CommitLane.allCases.count, let epoch = Int64(words[0]) else { return nil }
        self.init(server: String(words[words.count - 1]))
        self.epoch = epoch
        for (lane, word) in zip(CommitLane.allCases, words.dropFirst()) {
            guard let number = Int64(word) else { return nil }
            self.numbers[lane] = number
        }
    }

    /// Reads a mark; returns nil if it is missing or was only partly written.
    package static func read(at path: String) throws(FileError) -> CommitMark? {
        guard DurableFile.exists(path) else { return nil }
        return CommitMark(decoding: try DurableFile.read(path, atMost: Self.byteCount + 1))
    }
}

/// The commits of one server in one epoch, as its log or mark shows them, or as a later epoch took them into account.
///
/// An epoch takes a commit into account if the database has it, or if the charge of the epoch covers its loss.
package struct AccountedCommits: Hashable, Sendable {
    package let server: String
    /// The epoch in which the server made these commits.
    package let epoch: Int64
    /// The number of the last commit in each lane; empty if only the total is known.
    package var numbers: [CommitLane: Int64]
    /// The total number of commits according to the server's log or mark; 0 if neither was read.
    package var total: UInt64

    package init(server: String, epoch: Int64, numbers: [CommitLane: Int64] = [:], total: UInt64) {
        (self.server, self.epoch, self.numbers, self.total) = (server, epoch, numbers, total)
    }

    package init(_ mark: CommitMark) {
        self.init(server: mark.server, epoch: mark.epoch, numbers: mark.numbers, total: mark.total)
    }

    /// The number of commits that are known to exist, from the total or from the lanes' numbers.
    package var leastTotal: UInt64 {
        max(self.total, self.numbers.values.reduce(0) { $0 &+ UInt64(bitPattern: $1) })
    }

    /// Returns the number of these commits that are missing in `known`, which belongs to the same epoch.
    ///
    /// A server's numbers only rise within an epoch. So if `known` comes from the server's own log or mark and has the
    /// same total, no commit is missing.
    package func missing(in known: AccountedCommits) -> UInt64 {
        guard self.total > known.total else { return 0 }
        guard !self.numbers.isEmpty else { return self.total - min(self.total, known.leastTotal) }
        // Later commits in one lane must not hide lost commits in the other.
        return self.numbers.reduce(0) { $0 + UInt64(max(0, $1.value - known.numbers[$1.key, default: 0])) }
    }
}
