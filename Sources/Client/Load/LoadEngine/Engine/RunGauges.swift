internal import Synchronization

/// What is true of a run at this moment, kept by its users without a lock.
final class RunGauges: Sendable {
    /// Open connections, idle ones included.
    let connections = Atomic(0)
    /// Sent and not answered yet.
    let inFlight = Atomic(0)
    /// How many users the plan wants now; those with a number from this on end.
    let wanted = Atomic(0)
    /// Wrong PINs that gave way to right ones, so that no wallet is blocked.
    let spared = Atomic(0)
    /// Connections that were recognized by a ticket.
    let resumed = Atomic(0)
    /// Calls that the server put off, because their source had more than its share.
    let limited = Atomic(0)
    /// Checks that were sent again because they had no answer.
    let repeated = Atomic(0)
    /// Wallets that the server does not serve any more.
    let passedOver = Atomic(0)
    private let stopping = Atomic(false)

    /// Nothing new is begun any more.
    var isStopping: Bool { self.stopping.load(ordering: .relaxed) }

    func stop() { self.stopping.store(true, ordering: .relaxed) }

    /// Whether the user of this number goes on.
    func wants(_ number: Int) -> Bool { !self.isStopping && number < self.wanted.load(ordering: .relaxed) }
}
