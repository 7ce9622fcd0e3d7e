internal import PostgreSQLClient

/// The statement that commits a batch of decisions.
///
/// It compares and sets rows, and returns the settings and facts that it ran under, the rows that it wrote, and the
/// number of the commit.
package struct JudgingStatement: Sendable {
    package let wallets: [[UInt8]]
    package let old: [[UInt8]]
    package let new: [[UInt8]]
    /// The facts that the decisions are based on; if they have changed, no row is written.
    package let epoch: Int64
    package let isSolutionRevoked: Bool
    package let policy: String
    package let vaultKey: String?
    package let server: String

    var sql: (text: String, values: [PostgreSQLValue]) {
        (
            Self.text,
            [
                .byteArrays(self.wallets), .byteArrays(self.old), .byteArrays(self.new), .number(self.epoch),
                .flag(self.isSolutionRevoked), .text(self.policy), .text(self.server),
                .text(CommitLane.judging.rawValue), PostgreSQLValue(self.vaultKey),
            ]
        )
    }

    private static let text = """
        with proposed as (
            select id, old, new from unnest($1::bytea[], $2::bytea[], $3::bytea[]) as proposed (id, old, new)
        ), locked as materialized (
            select proposed.* from wallets join proposed on proposed.id = wallets.id
            where wallets.record = proposed.old
                and exists (
                    select from facts
                    where epoch = $4 and solution_revoked = $5 and policy = $6 and not lost_commits
                        and not \(CopyMark.isUnfinished) and \(StoreSession.vaultKey) is not distinct from $9
                )
            order by wallets.id for no key update of wallets skip locked
        ), written as (
            update wallets set record = locked.new from locked
            where wallets.id = locked.id and wallets.record = locked.old
            returning wallets.id, wallets.record
        ), counted as (
            \(ServerStatement.count(server: 7, lane: 8))
        )
        select \(StoreSession.factColumns), (select string_agg(id || record, '') from written),
            (select number from counted)
        from facts
        """
}
