internal import Synchronization
internal import Transport
internal import Vocabulary

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
    private let instructionCount = Atomic<Int>(0)

    var isBusy: Bool { self.busy.load(ordering: .sequentiallyConsistent) }

    func begin() { self.busy.store(true, ordering: .sequentiallyConsistent) }
    /// How many instructions came; for operators only.
    var instructions: Int { self.instructionCount.load(ordering: .relaxed) }

    func countInstruction() { self.instructionCount.add(1, ordering: .relaxed) }

    func end() { self.busy.store(false, ordering: .sequentiallyConsistent) }
}

/// An open session as operators are told of it.
struct OpenSessionFacts: Sendable {
    let walletID: WalletID
    let source: PeerSource
    let since: Timestamp
    /// As Hello claimed.
    let app: ClaimedApp
    let turn: Turn
}

/// What Hello claims of the app; nothing hangs on its truth.
struct ClaimedApp: Sendable {
    let version: AppVersion
    let platform: Platform
}
