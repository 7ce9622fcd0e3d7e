internal import PostgreSQLClient

/// The number of the last commit of one lane that the database confirmed; used by the lane's thread.
///
/// Invariant (G3, G7): a database that lacks a confirmed commit judges nothing. Each commit of a lane also writes the
/// lane's next number, and commits are ordered. So after a failover or a restore, a lower number than the confirmed one
/// proves that counted attempts or revocations are lost. The lane then marks the store, which stops all servers until
/// an operator opens an epoch.
///
/// A position in the log would not do: a statement cannot read that of its own commit, and the position that a later
/// one reads includes commits of others that nobody was told of.
final class ConfirmedCommits {
    private let parts: StoreParts
    private let lane: String
    private var number: Int64 = 0
    /// The epoch of the last confirmed commit.
    private var epoch: Int64 = 1

    init(of lane: String, _ parts: StoreParts) {
        self.parts = parts
        self.lane = lane
    }

    /// A statement that raises the number of server $s and lane $l, and returns it.
    static func count(server: Int, lane: Int) -> String {
        """
        insert into commit_numbers (server, lane, number) values ($\(server), $\(lane), 1)
        on conflict (server, lane) do update set number = commit_numbers.number + 1 returning number
        """
    }

    /// The parameters of ``count(server:lane:)``.
    var values: [PostgreSQLValue] { [.text(self.parts.server), .text(self.lane)] }

    /// Notes a confirmed commit.
    func note(_ number: Int64, epoch: Int64) {
        (self.number, self.epoch) = (number, epoch)
    }

    /// Returns whether a newly connected database has every confirmed commit, or an epoch for those that it lacks.
    func areAll(in session: StoreSession) throws -> Bool {
        let rows = try session.run("select number from commit_numbers where server = $1 and lane = $2", self.values)
        let stored = rows.count == 0 ? 0 : rows.number(0, 0) ?? 0
        if stored < self.number && session.facts.epoch <= self.epoch { return false }
        (self.number, self.epoch) = (stored, session.facts.epoch)
        return true
    }
}
