internal import Synchronization
internal import Transport
internal import Vocabulary

/// The operations on a connection that ``ConnectionRegistry`` needs, independent of the transport.
struct ConnectionHandle: Sendable {
    /// An id that is unique among the connections of this process.
    let id: UInt64
    /// Closes the connection immediately and drops any queued data.
    let abort: @Sendable () -> Void
    /// Allows new connections to displace this one if the table is full.
    let allowDisplacement: @Sendable () -> Void
    /// Returns once the connection is closed and can no longer send anything.
    let closed: @Sendable () async -> Void
    /// Returns whether no call that may release data is being answered and the peer's machine has acknowledged every
    /// answer.
    ///
    /// Waits briefly for the acknowledgment, and returns false if none arrives.
    var isIdle: @Sendable () async -> Bool = { false }
}

/// The activity of a connection: whether it is answering a call, and how many instructions it has received.
final class CallActivity: Sendable {
    private let busy = Atomic<Bool>(false)
    private let instructionCount = Atomic<Int>(0)

    /// Whether a call that may release data is being answered.
    ///
    /// This becomes true before the call can reach the store.
    var isBusy: Bool { self.busy.load(ordering: .sequentiallyConsistent) }
    /// The number of instructions received so far, shown to operators.
    var instructions: Int { self.instructionCount.load(ordering: .relaxed) }

    func begin(mayRelease: Bool = true) { self.busy.store(mayRelease, ordering: .sequentiallyConsistent) }
    func end() { self.busy.store(false, ordering: .sequentiallyConsistent) }
    func countInstruction() { self.instructionCount.add(1, ordering: .relaxed) }
}

/// An open session, as shown to operators.
struct SessionSummary: Sendable {
    let walletID: WalletID
    let source: PeerSource
    let since: Timestamp
    /// The app according to Hello.
    let app: ClaimedApp
    let activity: CallActivity
}

/// The version and platform claimed in Hello.
///
/// Nothing may rely on them.
struct ClaimedApp: Sendable {
    let version: AppVersion
    let platform: Platform
}
