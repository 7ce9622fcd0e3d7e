internal import PostgreSQLClient
@testable internal import PostgreSQLStore

/// The loss of confirmed commits, and the operator's program that opens an epoch.
extension SimulatedDatabase {
    /// The time within which a server must notice a loss, in microseconds.
    ///
    /// It allows for the server that made the commits being down.
    private static let noticeLimit: Int64 = 90_000_000

    /// An older standby becomes the primary, without at least this many of the confirmed commits.
    func failOverLosing(_ count: Int) {
        let leases = self.standby.leases.mapValues(\.holder.instance)
        let older = self.history.last {
            // The promises about leases hold only if the standby has all leases.
            $0.tables.leases.mapValues(\.holder.instance) == leases
                && $0.tables.countedCommits <= self.standby.countedCommits - Int64(count)
        }
        if let older {
            self.run.observer.note("database", "loses the confirmed commits since \(Trace.text(older.time))")
            self.standby = older.tables
            self.loseCommits(since: min(self.lossTime ?? older.time, older.time)) {
                "no server has noticed the loss of confirmed commits"
            }
        }
        self.history = []
        self.failOver()
    }

    /// Returns whether a commit is the revocation that a failover is to lose; plans the failover then.
    ///
    /// From this commit on the standby is away. Its wait is cancelled at once, so that the other server sees it.
    func isLostRevocation(_ transaction: DatabaseTransaction) -> Bool {
        guard transaction.notified.contains(LeaseChannel.revoked.rawValue), let loss = self.loseNextRevocation.take()
        else { return false }
        self.standbyAwayUntil = self.scheduler.now + loss.failover + 1
        self.scheduler.schedule(after: loss.failover, in: self.run.world) {
            self.failOver()
            loss.then(self.downUntil)
        }
        return true
    }

    /// Notes that the database lacks the confirmed commits since a time.
    ///
    /// - Parameter unnoticed: Called if no server notices the loss in time; returns a violation, if any.
    func loseCommits(since time: Int64, _ unnoticed: @escaping () -> String?) {
        self.lossTime = time
        self.run.observer.isLossy = true
        self.scheduler.schedule(after: Self.noticeLimit, in: self.run.world) {
            guard self.lossTime == time, !self.run.isOpeningEpoch else { return }
            if let violation = unnoticed() { self.run.observer.report(violation, inLoss: true) }
        }
    }

    /// The number of a server's commits of an epoch that later ones took into account.
    func accountedCommits(of server: String, in epoch: Int) -> UInt64 {
        self.visible.accounted.first { $0.server == server && $0.epoch == Int64(epoch) }?.leastTotal ?? 0
    }

    /// Carries out a statement of an operator's program.
    func carryOut(_ statement: StoreStatement, on backend: Backend) -> DatabaseAnswer {
        self.isOutside = true
        defer { self.isOutside = false }
        var answer = DatabaseAnswer.lost
        self.execute(statement, on: backend) { answer = $0 }
        return answer
    }

    /// Lets the standby catch up.
    func settle() {
        self.standbyAwayUntil = 0
        for commit in self.log where !commit.isVisible { self.apply(commit.transaction) }
        (self.standby, self.log, self.history) = (self.visible, [], [])
    }

    /// Ends the loss; returns the time of the state to which the last one reverted the database.
    func endLoss() -> Int64 {
        defer { self.lossTime = nil }
        return self.lossTime ?? self.scheduler.now
    }
}
