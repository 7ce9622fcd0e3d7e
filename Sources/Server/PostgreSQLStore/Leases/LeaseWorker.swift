internal import Dispatch
internal import Foundation
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
    private static let pause: TimeInterval = 0.2

    private let keeper: LeaseKeeper
    private let parts: StoreParts
    private var table: LeaseTable?
    /// The number up to which this server has settled the revocations.
    private var settled: Int64 = 0
    /// The number that the last renewal acknowledged.
    private var acknowledged: Int64 = 0
    private var nextRenewal = ContinuousClock.now
    /// Whether everything was settled since the right to release ended last.
    private var isSettled = true

    init(_ keeper: LeaseKeeper) {
        (self.keeper, self.parts) = (keeper, keeper.parts)
    }

    /// Takes the lease and the right to release.
    ///
    /// - Throws: ``PostgreSQLStoreOpenError/nameInUse(server:instance:)`` if another process renews a lease under this
    ///   server's name.
    func begin() throws {
        let table = try self.connected()
        while try !table.take(within: self.limit) { try self.waitForEnd(in: table) }
        try self.renew()
        // The first renewal had no certain time.
        while !self.keeper.isHeld { try self.renew() }
    }

    /// Ends the lease of an earlier process of this server, as soon as its time is over.
    private func waitForEnd(in table: LeaseTable) throws {
        let start = self.parts.elapsed()
        var first: LeaseTable.Row?
        while let row = try table.look(within: self.limit).rows.first(where: { $0.server.name == self.parts.server }) {
            let seen = first ?? row
            guard seen.server.instance == row.server.instance, seen.renewals == row.renewals else {
                throw PostgreSQLStoreOpenError.nameInUse(server: self.parts.server, instance: row.server.instance)
            }
            first = row
            if self.parts.elapsed() - start > row.lasts, try table.end(row, within: self.limit) { return }
            Thread.sleep(forTimeInterval: Self.pause)
        }
    }

    /// Renews until the keeper is closed, and then ends the lease.
    func run() {
        while !self.keeper.state.withLock(\.isClosed) {
            do {
                try self.renew()
                try self.sleep()
            } catch {
                self.parts.onRefusal("the lease was not renewed: \(error)")
                self.disconnect()
                if !self.keeper.isHeld { self.abandonWaiters() }
                self.settleIfLapsed()
                Thread.sleep(forTimeInterval: Self.pause)
            }
        }
        self.keeper.heldUntil.store(0, ordering: .sequentiallyConsistent)
        try? self.table?.release(within: self.parts.timeLimit)
        self.disconnect()
        self.abandonWaiters()
        let waiters = self.keeper.state.withLock { state in
            state.hasEnded = true
            defer { state.onEnd = [] }
            return state.onEnd
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Renews the lease if that is due, looks into the table, and settles and acknowledges new revocations.
    private func renew() throws {
        while try self.isDue ? self.renewOnce() : self.look() {}
    }

    /// Whether the lease must be renewed by now, also to acknowledge revocations.
    private var isDue: Bool {
        self.acknowledged != self.settled || !self.keeper.isHeld || ContinuousClock.now >= self.nextRenewal
    }

    /// Renews the lease; returns whether another look is needed.
    private func renewOnce() throws -> Bool {
        let table = try self.connected()
        let (lastWaiter, load) = self.keeper.state.withLock { ($0.lease.newestWaiter, $0.load) }
        let (start, next) = (self.parts.elapsed(), ContinuousClock.now + min(Self.interval, self.parts.lease / 6))
        let renewal = try table.renew(
            acknowledging: self.settled,
            isNews: self.acknowledged != self.settled,
            load: load(),
            takesMaintenance: !self.keeper.maintains.load(ordering: .relaxed),
            within: self.limit
        )
        guard let renewal else {
            try self.takeAnew(table)
            return true
        }
        let end = self.parts.elapsed()
        self.nextRenewal = next
        self.acknowledged = self.settled
        if renewal.tookMaintenance { self.keeper.maintains.store(true, ordering: .relaxed) }
        // Without a certain time, the lease is as good as not renewed.
        if self.keeper.leaseClock.set(renewal.time, between: start, and: end) { self.extend(from: start) }
        return try self.take(renewal.view, from: table, at: end, upTo: lastWaiter)
    }

    /// Looks into the table without a commit; returns whether another look is needed.
    private func look() throws -> Bool {
        let table = try self.connected()
        let lastWaiter = self.keeper.state.withLock(\.lease.newestWaiter)
        return try self.take(table.look(within: self.limit), from: table, at: self.parts.elapsed(), upTo: lastWaiter)
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
        for row in overdue where try table.end(row, within: self.limit) {
            present.removeAll { $0.server.instance == row.server.instance }
        }
        self.answer(present, newest: view.newest, upTo: lastWaiter)
        guard view.newest > self.settled else { return false }
        self.settle(try table.revoked(after: self.settled, upTo: view.newest, within: self.limit))
        self.settled = view.newest
        return true
    }

    /// Waits until the next renewal is due, or a look is asked for.
    private func sleep() throws {
        while let table {
            let channels = try table.connection.notifications(
                orReadable: self.keeper.wakePipe.readable,
                until: self.nextRenewal
            )
            self.keeper.wakePipe.clear()
            let isAsked = self.keeper.state.withLock { $0.isClosed || $0.lease.hasWaiters }
            if isAsked || channels != [LeaseChannel.acknowledged.rawValue] { return }
        }
    }

    private func connected() throws -> LeaseTable {
        if let table, table.connection.isOpen { return table }
        self.disconnect()
        let table = try LeaseTable(self.parts, instance: self.keeper.instance, within: self.limit)
        self.table = table
        return table
    }

    private func disconnect() {
        self.table?.connection.close()
        self.table = nil
        // The lock is lost with the connection.
        self.keeper.maintains.store(false, ordering: .relaxed)
        // The next database may lack revocations that this server has settled, and number others in their place.
        // Invariant (G7): a server acknowledges only numbers that it has settled in the connected database.
        (self.settled, self.acknowledged) = (0, 0)
    }

    /// The limit of a statement: no statement outlasts the right to release, so that the thread can settle in time.
    private var limit: Duration {
        let left =
            Duration.nanoseconds(self.keeper.heldUntil.load(ordering: .sequentiallyConsistent))
            - self.parts.elapsed()
        return left > .zero ? min(self.parts.timeLimit, max(Self.shortestLimit, left)) : self.parts.timeLimit
    }

    /// Extends the right to release from the moment before a renewal.
    private func extend(from start: Duration) {
        self.settleIfLapsed()
        self.keeper.state.withLock { $0.renewedAt = start }
        self.isSettled = false
        self.keeper.heldUntil.store((start + self.parts.lease * 2 / 3).nanoseconds, ordering: .sequentiallyConsistent)
    }

    /// Cuts off undelivered answers after the right to release has ended.
    ///
    /// Invariant (G7): an answer that was given to a connection in time has either reached its client before other
    /// servers count the lease as ended, or never leaves.
    private func settleIfLapsed() {
        guard !self.isSettled, !self.keeper.isHeld else { return }
        self.parts.onRefusal("the lease was not renewed in time: nothing is released until it is")
        self.settle(nil)
        self.isSettled = true
    }

    /// Takes a new lease after other servers have ended this one's; the next renewal gives the right to release.
    ///
    /// Invariant (G7): revocations may have returned without this server, so everything is settled first.
    private func takeAnew(_ table: LeaseTable) throws {
        self.keeper.heldUntil.store(0, ordering: .sequentiallyConsistent)
        self.settleIfLapsed()
        (self.settled, self.acknowledged) = (0, 0)
        guard try table.take(within: self.limit) else {
            let instance = try table.look(within: self.limit).rows.first { $0.server.name == self.parts.server }?.server
                .instance
            throw PostgreSQLStoreOpenError.nameInUse(server: self.parts.server, instance: instance ?? "unknown")
        }
    }

    private func answer(_ rows: [LeaseTable.Row], newest: Int64, upTo last: UInt64) {
        let answers = self.keeper.state.withLock { state in
            state.lease.receive(rows, newest: newest, upTo: last).map { (state.waiters.removeValue(forKey: $0), $1) }
        }
        for (waiter, answer) in answers { waiter?.resume(returning: .success(answer)) }
    }

    private func abandonWaiters() {
        let waiters = self.keeper.state.withLock { state in
            state.lease.abandonWaiters().compactMap { state.waiters.removeValue(forKey: $0) }
        }
        for waiter in waiters { waiter.resume(returning: .failure(.unavailable)) }
    }

    private func settle(_ wallets: [WalletID]?) {
        let (settle, done) = (self.keeper.state.withLock(\.settle), DispatchSemaphore(value: 0))
        Task {
            await settle(wallets)
            done.signal()
        }
        done.wait()
    }
}
