internal import Synchronization

/// What the registry may do with a connection, whatever carries it.
struct LiveConnection: Sendable {
    /// Unique among the connections of this process.
    let id: UInt64
    /// Ends it at once; nothing that is still queued leaves.
    let abort: @Sendable () -> Void
    /// Ends it once what is queued has left.
    let close: @Sendable () -> Void
    /// Returns when it is closed and nothing can leave any more.
    let closed: @Sendable () async -> Void
    /// Whether nothing of it is on its way: no call is being answered, and what was answered has arrived.
    ///
    /// Waits a little for the peer's machine to say so; false where it does not.
    var isAtRest: @Sendable () async -> Bool = { false }
}

/// Whether a connection's call is being answered; set before the call can touch the store.
final class Turn: Sendable {
    private let busy = Atomic<Bool>(false)

    var isBusy: Bool { self.busy.load(ordering: .sequentiallyConsistent) }

    func begin() { self.busy.store(true, ordering: .sequentiallyConsistent) }
    func end() { self.busy.store(false, ordering: .sequentiallyConsistent) }
}
