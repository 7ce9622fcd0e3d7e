internal import PostgreSQLClient
internal import Synchronization
internal import Vocabulary
internal import WalletStore

/// The work of a ``LeaseKeeper``'s thread.
final class LeaseWorker {
    /// The time between renewals, unless a notification or a waiting call asks for an earlier one.
    private static let interval: Duration = .seconds(1)
    private static let shortestLimit: Duration = .milliseconds(200)
    /// The time for which a failed connection is not tried again.
    private static let pause: Duration = .milliseconds(200)

    private let keeper: LeaseKeeper
    private let parts: StoreParts
    private var table: LeaseTable?
    /// The number up to which this server has settled the revocations.
    private var settled: Int64 = 0
    /// The number that the last renewal acknowledged.
    private var acknowledged: Int64 = 0
    private var nextRenewal: ContinuousClock.Instant
    /// The common deadline of the current sequence of statements.
    private var deadline: ContinuousClock.Instant
    /// The epoch that this server serves.
    private var epoch: Int64?

    init(_ keeper: LeaseKeeper) {
        (self.keeper, self.parts) = (keeper, keeper.parts)
        self.nextRenewal = keeper.parts.machine.now()
        self.deadline = self.nextRenewal
    }

    /// Acquires the lease, and returns once a renewal has succeeded, so that this server may send wallets' data.
    ///
    /// - Throws: ``PostgreSQLStoreOpenError/nameInUse(server:instance:)`` if another process renews a lease under this
    ///   server's name.
    func begin() throws {
        while try !self.round().take() { try self.waitForEnd() }
        while true {
            try self.keeper.confirmed.confirmFound { try self.renew() }
            if self.keeper.isHeld { return }
            // The reason was logged with the renewal.
            self.parts.machine.sleep(Self.pause)
        }
    }

    /// Waits until the lease of an earlier process with this server's name expires, and removes it.
    private func waitForEnd() throws {
        let start = self.parts.elapsed()
        var first: LeaseTable.Row?
        while let row = try self.round().look().rows.first(where: { $0.server.name == self.parts.server }) {
            let seen = first ?? row
            guard seen.server.instance == row.server.instance, seen.renewals == row.renewals else {
                throw PostgreSQLStoreOpenError.nameInUse(server: self.parts.server, instance: row.server.instance)
            }
            if first == nil {
                let reason = "the start waits up to \(row.lasts) for the lease of an earlier process to end"
                self.parts.onRefusal(reason, nil)
            }
            first = row
            if self.parts.elapsed() - start > row.lasts, try self.round().end(row) { return }
            self.parts.machine.sleep(Self.pause)
        }
    }

    /// Renews until the keeper is closed, and then ends the lease.
    func run() {
        while !self.keeper.state.withLock(\.isClosed) {
            do {
                try self.renew()
                try self.sleep()
            } catch {
                self.parts.meters.count(error)
                self.parts.onRefusal("the lease was not renewed: \(error)", error)
                self.disconnect()
                if !self.keeper.isHeld { self.keeper.abandonWaiters() }
                self.keeper.settleIfLapsed()
                self.parts.machine.sleep(Self.pause)
            }
        }
        self.keeper.heldUntil.store(0, ordering: .sequentiallyConsistent)
        self.table?.session.deadline = nil
        try? self.table?.release()
        self.disconnect()
        self.keeper.abandonWaiters()
        self.keeper.end.reach()
    }

    /// Renews the lease if that is due, reads the table, and settles and acknowledges new revocations.
    private func renew() throws {
        while try self.isDue ? self.renewOnce() : self.look() {}
    }

    /// Whether the lease must be renewed by now, also to acknowledge revocations.
    private var isDue: Bool {
        self.acknowledged != self.settled || !self.keeper.isHeld || self.parts.machine.now() >= self.nextRenewal
    }

    /// Renews the lease; returns true if it must be renewed again, to acknowledge settled revocations or because it was
    /// acquired anew.
    private func renewOnce() throws -> Bool {
        let table = try self.round()
        let (lastWaiter, load) = self.keeper.state.withLock { ($0.lease.newestWaiter, $0.load) }
        let (start, began) = (self.parts.elapsed(), self.parts.uptime())
        let next = self.parts.machine.now() + min(Self.interval, self.parts.lease / 6)
        let renewal = try table.renew(
            acknowledging: self.settled,
            isNews: self.acknowledged != self.settled,
            load: load(),
            takesMaintenance: !self.keeper.maintains.load(ordering: .relaxed),
            at: self.keeper.leaseClock.known?.milliseconds
        )
        guard let renewal else {
            try self.takeAnew(table)
            return true
        }
        let (end, ended) = (self.parts.elapsed(), self.parts.uptime())
        self.nextRenewal = next
        self.acknowledged = self.settled
        if renewal.tookMaintenance { self.keeper.maintains.store(true, ordering: .relaxed) }
        let doubt = self.keeper.leaseClock.set(
            renewal.clock,
            newest: renewal.time,
            overdue: renewal.overdue(for: self.keeper.instance),
            between: began,
            and: ended
        )
        if let doubt {
            // If the time is uncertain, the renewal does not count.
            if case .step = doubt { self.keeper.giveUp() }
            self.parts.onRefusal("the lease was not renewed: \(doubt)", nil)
        } else {
            self.keeper.extend(from: start)
        }
        return try self.take(renewal.view, from: table, at: end, upTo: lastWaiter)
    }

    /// Reads the table without a commit; returns true if new revocations were settled, which the next renewal must
    /// acknowledge.
    private func look() throws -> Bool {
        let table = try self.round()
        let lastWaiter = self.keeper.state.withLock(\.lease.newestWaiter)
        return try self.take(table.look(), from: table, at: self.parts.elapsed(), upTo: lastWaiter)
    }

    /// Ends the leases of servers that are gone, answers waiting calls, and settles new revocations; returns whether
    /// those must be acknowledged.
    private func take(
        _ view: LeaseTable.View,
        from table: LeaseTable,
        at now: Duration,
        upTo lastWaiter: UInt64
    ) throws -> Bool {
        let overdue = self.keeper.state.withLock { $0.lease.overdue(in: view.rows, at: now) }
        var present = view.rows
        for row in overdue where try table.end(row) {
            present.removeAll { $0.server.instance == row.server.instance }
        }
        self.answer(present, newest: view.newest, upTo: lastWaiter)
        guard view.newest > self.settled else { return false }
        self.keeper.settle(try table.revoked(after: self.settled, upTo: view.newest))
        self.settled = view.newest
        return true
    }

    /// Waits until the next renewal is due, or the table must be read earlier.
    private func sleep() throws {
        while let table {
            let channels = try table.session.connection.notifications(
                orWoken: self.keeper.wakePipe,
                until: self.nextRenewal
            )
            self.keeper.wakePipe.clear()
            let isAsked = self.keeper.state.withLock { $0.isClosed || $0.lease.hasWaiters }
            if isAsked || channels != [LeaseChannel.acknowledged.rawValue] { return }
        }
    }

    /// Starts a sequence of statements with one common deadline, and connects if needed.
    private func round() throws -> LeaseTable {
        self.deadline = self.parts.machine.now() + self.limit
        if let table, table.session.connection.isOpen {
            table.session.deadline = self.deadline
            return table
        }
        self.disconnect()
        let table = try LeaseTable(
            self.parts,
            self.keeper.confirmed,
            instance: self.keeper.instance,
            until: self.deadline
        )
        try self.requireEpoch(table.session.epoch)
        self.table = table
        return table
    }

    /// Stops this server if another epoch was opened.
    ///
    /// Invariant (G7): a server compares the database with its whole audit log only when it starts. A server that was
    /// cut off while the epoch was opened may have made revocations that the epoch did not take into account.
    private func requireEpoch(_ epoch: Int64) throws {
        guard let served = self.epoch, served != epoch else {
            self.epoch = epoch
            return
        }
        self.keeper.giveUp()
        self.parts.onEpochEnd()
        throw PostgreSQLStoreOpenError.epochEnded
    }

    private func disconnect() {
        self.table?.session.connection.close()
        self.table = nil
        // The lock is lost with the connection.
        self.keeper.maintains.store(false, ordering: .relaxed)
        // The next database may lack revocations that this server has settled, and number others in their place.
        // Invariant (G7): a server acknowledges only numbers that it has settled in the connected database.
        (self.settled, self.acknowledged) = (0, 0)
    }

    /// The time limit of a sequence of statements: none outlasts the time in which this server may send wallets' data,
    /// so that another host is tried in time.
    private var limit: Duration {
        let left =
            Duration.nanoseconds(self.keeper.heldUntil.load(ordering: .sequentiallyConsistent))
            - self.parts.elapsed()
        return left > .zero ? min(self.parts.timeLimit, max(Self.shortestLimit, left)) : self.parts.timeLimit
    }

    /// Acquires a new lease after other servers have ended this one's; after the next renewal, this server may send
    /// wallets' data again.
    ///
    /// Invariant (G7): revocations may have returned without this server, so everything is settled first.
    private func takeAnew(_ table: LeaseTable) throws {
        self.keeper.giveUp()
        (self.settled, self.acknowledged) = (0, 0)
        guard try table.take() else {
            let instance = try table.look().rows.first { $0.server.name == self.parts.server }?.server.instance
            throw PostgreSQLStoreOpenError.nameInUse(server: self.parts.server, instance: instance ?? "unknown")
        }
    }

    private func answer(_ rows: [LeaseTable.Row], newest: Int64, upTo last: UInt64) {
        let answers = self.keeper.state.withLock { state in
            state.lease.receive(rows, newest: newest, upTo: last).map { (state.waiters.removeValue(forKey: $0), $1) }
        }
        for (waiter, answer) in answers { waiter?.resume(returning: .success(answer)) }
    }
}
