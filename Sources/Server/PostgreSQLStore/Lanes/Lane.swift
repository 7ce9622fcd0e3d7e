internal import PostgreSQLClient
internal import Synchronization
internal import WalletStore

/// A thread with one connection, and the steps that are waiting for it.
///
/// The thread blocks while the database works, so it is not part of the cooperative pool. Callers wait without blocking
/// a thread.
final class Lane<Step: Sendable>: Sendable {
    private struct State {
        var waiting: [Step] = []
        var isIdle = false
        var isClosed = false
    }

    /// The maximum number of steps that the thread takes at once.
    private let largestBatch: Int
    private let state = Mutex(State())
    private let wake: any StoreWake
    let end = ThreadEnd()

    /// Starts the thread, which passes the lane to `body` and ends when `body` returns.
    init(
        _ name: String,
        on machine: StoreMachine,
        largestBatch: Int,
        _ body: @escaping @Sendable (Lane<Step>) -> Void
    ) {
        self.largestBatch = largestBatch
        self.wake = machine.makeSemaphore()
        machine.startThread(name) {
            body(self)
            self.end.reach()
        }
    }

    /// The number of waiting steps.
    var count: Int { self.state.withLock { $0.waiting.count } }

    /// Adds a step; returns false once the lane is closed.
    func put(_ step: Step) -> Bool {
        let (isTaken, mustWake) = self.state.withLock { state in
            guard !state.isClosed else { return (false, false) }
            state.waiting.append(step)
            defer { state.isIdle = false }
            return (true, state.isIdle)
        }
        if mustWake { self.wake.signal() }
        return isTaken
    }

    /// Waits for steps; returns nil once the lane is closed and empty.
    ///
    /// - Parameter waits: Whether to wait for a step. If false, returns immediately.
    func next(waits: Bool = true) -> [Step]? {
        while true {
            let (batch, isClosed) = self.state.withLock { state in
                let batch = Array(state.waiting.prefix(self.largestBatch))
                state.waiting.removeFirst(batch.count)
                state.isIdle = batch.isEmpty && waits && !state.isClosed
                return (batch, state.isClosed)
            }
            if !batch.isEmpty || !waits { return batch }
            if isClosed { return nil }
            self.wake.wait()
        }
    }

    /// Rejects further steps.
    ///
    /// Steps that are already waiting still run.
    func close() {
        let mustWake = self.state.withLock { state in
            state.isClosed = true
            defer { state.isIdle = false }
            return state.isIdle
        }
        if mustWake { self.wake.signal() }
    }
}

/// Opens a lane's connection when a step needs one.
///
/// Used only by the lane's thread.
final class Reconnection {
    /// The delay before a failed connection is retried, so that a flood of calls does not become a flood of
    /// connections.
    private static let pause: Duration = .milliseconds(200)

    private let parts: StoreParts
    private let confirmed: ConfirmedCommits
    private(set) var session: StoreSession?
    private var notBefore: ContinuousClock.Instant

    init(_ parts: StoreParts, _ confirmed: ConfirmedCommits) {
        self.parts = parts
        self.confirmed = confirmed
        self.notBefore = parts.machine.now()
    }

    /// Returns the open session, or opens one; returns nil if that fails.
    func current() -> StoreSession? {
        if let session, session.connection.isOpen { return session }
        self.session = nil
        guard self.parts.machine.now() >= self.notBefore else { return nil }
        do {
            self.session = try StoreSession(self.parts, self.confirmed)
        } catch {
            self.notBefore = self.parts.machine.now() + Self.pause
            self.parts.refuse(error)
        }
        return self.session
    }

    /// Closes the connection, because its state is unknown or the database behind it may soon be a different one.
    func drop() {
        self.session?.connection.close()
        self.session = nil
    }
}
