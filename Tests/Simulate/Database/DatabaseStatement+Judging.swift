internal import PostgreSQLClient
@testable internal import PostgreSQLStore

/// The statement that commits a batch of steps.
extension DatabaseStatement {
    static let judgingStatements: [(String, Action)] = [
        (JudgingWorker.statement, Self.judge)
    ]

    /// Compares and sets rows, skips those that are locked, and counts the commit.
    private static let judge: Action = { execution in
        let numberOfServer = "\(execution.text(7)) \(execution.text(8))"
        try execution.lock(.commitNumber(numberOfServer))
        let (ids, old, new) = (execution.arrays(1), execution.arrays(2), execution.arrays(3))
        guard let facts = execution.tables.facts else { throw StatementExecution.Rejected(state: "42P01") }
        let isInForce =
            facts.epoch == execution.number(4) && facts.isSolutionRevoked == execution.flag(5)
            && facts.policy == execution.text(6) && !facts.lostCommits
            && execution.tables.vaultKey == execution.optionalText(9)
        var written: [UInt8] = []
        for (place, id) in ids.enumerated()
        where isInForce && execution.tables.wallets[id] == old[place] && execution.tryLock(.wallet(id)) {
            execution.change { $0.wallets[id] = new[place] }
            written += id + new[place]
        }
        let number = (execution.tables.commitNumbers[numberOfServer] ?? 0) + 1
        execution.change { $0.commitNumbers[numberOfServer] = number }
        return rows(execution.tables.factColumns + [written.isEmpty ? .null : .bytes(written), .number(number)])
    }
}
