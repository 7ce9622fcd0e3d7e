internal import WalletStore

/// The knowledge of one server about the leases, without I/O: each method is one event.
struct LeaseState {
    /// A call that waits for acknowledgments.
    struct Waiter {
        let id: UInt64
        /// The newest revocation at the first renewal after the call; nil before it.
        var target: Int64?
        /// The instances that have not acknowledged it, with their servers' names.
        var waiting: [String: String] = [:]
        var done = Acknowledgements()
    }

    /// The time of a lease as this server has observed it.
    private struct Observation {
        var renewals: Int64
        /// The holder's time at that renewal.
        ///
        /// A lease that was taken again may have as many renewals as before.
        var renewedAt: Int64
        var since: Duration

        init(_ row: LeaseTable.Row, since: Duration) {
            (self.renewals, self.renewedAt, self.since) = (row.renewals, row.renewedAt, since)
        }

        func isOf(_ row: LeaseTable.Row) -> Bool { self.renewals == row.renewals && self.renewedAt == row.renewedAt }
    }

    /// The instance that this server is.
    let instance: String
    private(set) var servers: [LeasedServer] = []
    private var observed: [String: Observation] = [:]
    private(set) var waiters: [Waiter] = []
    private var nextWaiter: UInt64 = 0

    init(instance: String) {
        self.instance = instance
    }

    var hasWaiters: Bool { !self.waiters.isEmpty }

    /// Adds a call; ``receive(_:at:)`` or ``abandonWaiters()`` ends it.
    mutating func wait() -> UInt64 {
        self.nextWaiter += 1
        self.waiters.append(Waiter(id: self.nextWaiter))
        return self.nextWaiter
    }

    /// Forgets all calls and returns them.
    mutating func abandonWaiters() -> [UInt64] {
        defer { self.waiters = [] }
        return self.waiters.map(\.id)
    }

    /// The last waiter so far; a renewal that begins now answers only those up to it.
    var newestWaiter: UInt64 { self.nextWaiter }

    /// Takes the leases that a renewal read, and returns those that have ended: not renewed for their whole time since
    /// this server first saw them so.
    ///
    /// Only this machine's clock is compared with itself: the database's may jump at a failover. The holder counts from
    /// the moment before its renewal, and stops earlier (``LeaseKeeper``).
    ///
    /// - Parameter now: A moment after the leases were read.
    mutating func overdue(in rows: [LeaseTable.Row], at now: Duration) -> [LeaseTable.Row] {
        var observed: [String: Observation] = [:]
        var overdue: [LeaseTable.Row] = []
        for row in rows where row.server.instance != self.instance {
            var seen = self.observed[row.server.instance] ?? Observation(row, since: now)
            if !seen.isOf(row) { seen = Observation(row, since: now) }
            observed[row.server.instance] = seen
            if now - seen.since > row.lasts { overdue.append(row) }
        }
        self.observed = observed
        return overdue
    }

    /// Takes the present leases, and returns the calls that need not wait any longer, with their answers.
    ///
    /// - Parameter last: The last waiter before the renewal began. A later one may be about a later revocation.
    mutating func receive(
        _ rows: [LeaseTable.Row],
        newest: Int64,
        upTo last: UInt64
    ) -> [(waiter: UInt64, answer: Acknowledgements)] {
        self.servers = rows.map(\.server)
        let present = Dictionary(rows.map { ($0.server.instance, $0) }, uniquingKeysWith: { first, _ in first })
        for place in self.waiters.indices where self.waiters[place].id <= last {
            if self.waiters[place].target == nil {
                self.waiters[place].target = newest
                self.waiters[place].waiting = present.mapValues(\.server.name)
            }
            let target = self.waiters[place].target ?? newest
            for (instance, name) in self.waiters[place].waiting {
                if let row = present[instance] {
                    guard row.acknowledged >= target else { continue }
                    self.waiters[place].done.acknowledged.append(name)
                } else {
                    self.waiters[place].done.ended.append(name)
                }
                self.waiters[place].waiting[instance] = nil
            }
        }
        let finished = self.waiters.filter { $0.target != nil && $0.waiting.isEmpty }
        self.waiters.removeAll { $0.target != nil && $0.waiting.isEmpty }
        return finished.map { waiter in
            var answer = waiter.done
            answer.acknowledged.sort()
            answer.ended.sort()
            return (waiter.id, answer)
        }
    }
}
