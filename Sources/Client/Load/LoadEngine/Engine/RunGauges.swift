internal import Synchronization

/// Live counts for a run.
///
/// Its users update them without a lock.
final class RunGauges: Sendable {
    /// The number of open connections, including idle ones.
    let connections = Atomic(0)
    /// The number of calls that have been sent but not answered yet.
    let inFlight = Atomic(0)
    /// The number of users that the plan currently wants.
    ///
    /// Users with this number or higher end.
    let wanted = Atomic(0)
    /// The number of wrong PINs replaced with right ones, so that no wallet is blocked.
    let replaced = Atomic(0)
    /// The number of connections resumed with a ticket.
    let resumed = Atomic(0)
    /// The number of connections made so far.
    ///
    /// It determines which of several servers is used next.
    let connects = Atomic(0)
    /// The number of calls rejected by the server because of a rate limit.
    let rateLimited = Atomic(0)
    /// The number of checks repeated because no response arrived.
    let repeated = Atomic(0)
    /// The number of wallets that the server no longer serves.
    let excluded = Atomic(0)
    private let stopping = Atomic(false)

    /// Whether no new operation may begin.
    var isStopping: Bool { self.stopping.load(ordering: .relaxed) }

    func stop() { self.stopping.store(true, ordering: .relaxed) }

    /// Returns whether the user with this number should continue.
    func wants(_ number: Int) -> Bool { !self.isStopping && number < self.wanted.load(ordering: .relaxed) }
}
