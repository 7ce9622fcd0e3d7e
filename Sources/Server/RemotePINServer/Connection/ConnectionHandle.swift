internal import Synchronization
internal import Transport
internal import Vocabulary

/// The operations of ``ConnectionRegistry`` on a connection, independent of its transport.
struct ConnectionHandle: Sendable {
    /// Unique among the connections of this process.
    let id: UInt64
    /// Closes the connection at once and drops queued data.
    let abort: @Sendable () -> Void
    /// Notes the end of the session: the connection may be displaced by new ones.
    let endSession: @Sendable () -> Void
    /// Returns when the connection is closed and can send nothing more.
    let closed: @Sendable () async -> Void
    /// Whether nothing of the connection is in flight: no call is being answered, and the peer's
    /// machine has acknowledged every answer.
    ///
    /// Waits briefly for the acknowledgment; returns false without one.
    var isIdle: @Sendable () async -> Bool = { false }
}

/// The activity of a connection: whether it answers a call, and the number of its instructions.
final class CallActivity: Sendable {
    private let busy = Atomic<Bool>(false)
    private let instructionCount = Atomic<Int>(0)

    /// Whether a call is being answered; true before the call can reach the store.
    var isBusy: Bool { self.busy.load(ordering: .sequentiallyConsistent) }
    /// The number of instructions so far, for operators.
    var instructions: Int { self.instructionCount.load(ordering: .relaxed) }

    func begin() { self.busy.store(true, ordering: .sequentiallyConsistent) }
    func end() { self.busy.store(false, ordering: .sequentiallyConsistent) }
    func countInstruction() { self.instructionCount.add(1, ordering: .relaxed) }
}

/// An open session, for operators.
struct SessionSummary: Sendable {
    let walletID: WalletID
    let source: PeerSource
    let since: Timestamp
    /// As Hello claimed.
    let app: ClaimedApp
    let activity: CallActivity
}

/// The version and platform that Hello claims; nothing depends on their truth.
struct ClaimedApp: Sendable {
    let version: AppVersion
    let platform: Platform
}
