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
