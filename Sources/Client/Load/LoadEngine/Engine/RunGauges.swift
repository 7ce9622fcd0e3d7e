internal import Synchronization

/// Live counts of a run, updated by its users without a lock.
final class RunGauges: Sendable {
    /// Open connections, including idle ones.
    let connections = Atomic(0)
    /// Calls that were sent but have not been answered yet.
    let inFlight = Atomic(0)
    /// The number of users that the plan currently wants.
    ///
    /// Users with this number or a higher one end.
    let wanted = Atomic(0)
    /// Wrong PINs replaced by right ones, so that no wallet is blocked.
    let replaced = Atomic(0)
    /// Connections resumed with a ticket.
    let resumed = Atomic(0)
    /// The number of connections made so far.
    ///
    /// It determines which of several servers is next.
    let connects = Atomic(0)
    /// Calls that the server rejected because of a rate limit.
    let rateLimited = Atomic(0)
    /// Checks repeated because no response arrived.
    let repeated = Atomic(0)
    /// Wallets that the server no longer serves.
    let excluded = Atomic(0)
    private let stopping = Atomic(false)

    /// True if no new operation may begin.
    var isStopping: Bool { self.stopping.load(ordering: .relaxed) }

    func stop() { self.stopping.store(true, ordering: .relaxed) }

    /// Returns true if the user with this number continues.
    func wants(_ number: Int) -> Bool { !self.isStopping && number < self.wanted.load(ordering: .relaxed) }
}
