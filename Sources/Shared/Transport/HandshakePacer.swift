internal import NIOCore
internal import NIOPosix

/// Queues an event loop's handshake steps, with pauses in between so that the loop can serve open connections.
///
/// A ClientHello costs the server a key agreement and a signature. Without this queue, a flood of ClientHellos, or all
/// phones reconnecting after an outage, would be processed back to back while every PIN check waits. After each batch
/// of steps, the loop does all other work that is ready. If there is none, it continues immediately. A batch may take
/// half as long as that other work, but always runs at least one step, so handshakes get a third of a busy loop's time.
/// The queue only contains handshakes in progress, at most ``TransportLimits/handshakes`` of them.
final class HandshakePacer {
    private let eventLoop: any EventLoop
    private let now: () -> NIODeadline
    private var waiting = CircularBuffer<() -> Void>()
    private var lastEnd: NIODeadline
    private var pausedUntil = NIODeadline.uptimeNanoseconds(0)
    private var isScheduled = false

    /// The maximum duration of a batch.
    ///
    /// The last handshake may exceed it.
    private static let longBatch = TimeAmount.milliseconds(50)
    /// The delay until the next batch is due.
    ///
    /// The loop checks for other work before it runs a task that is due later, but not before one that is due now. If
    /// it finds any, the pause lasts until that work is done.
    private static let pause = TimeAmount.microseconds(20)
    /// The pacer for the current thread's event loop.
    private static let ofThread = ThreadSpecificVariable<Bound>()

    private final class Bound: Sendable {
        let pacer: NIOLoopBound<HandshakePacer>

        init(_ pacer: HandshakePacer) {
            self.pacer = NIOLoopBound(pacer, eventLoop: pacer.eventLoop)
        }
    }

    init(on eventLoop: any EventLoop, now: @escaping () -> NIODeadline = { .now() }) {
        self.eventLoop = eventLoop
        self.now = now
        self.lastEnd = now()
    }

    /// Returns the pacer for an event loop; must be called on that loop.
    static func of(_ eventLoop: any EventLoop) -> HandshakePacer {
        if let bound = Self.ofThread.currentValue { return bound.pacer.value }
        let pacer = HandshakePacer(on: eventLoop)
        Self.ofThread.currentValue = Bound(pacer)
        return pacer
    }

    /// Runs `work` immediately, or after the queued steps and the pause if there are any.
    func run(_ work: @escaping () -> Void) {
        if self.waiting.isEmpty, self.now() >= self.pausedUntil {
            work()
            self.pause()
        } else {
            self.waiting.append(work)
            self.schedule()
        }
    }

    private func runBatch() {
        let start = self.now()
        let sinceLast = TimeAmount.nanoseconds((start - self.lastEnd).nanoseconds / 2)
        let end = start + min(sinceLast, Self.longBatch)
        repeat {
            self.waiting.popFirst()?()
        } while !self.waiting.isEmpty && self.now() < end
        self.pause()
    }

    private func pause() {
        self.lastEnd = self.now()
        self.pausedUntil = self.lastEnd + Self.pause
    }

    private func schedule() {
        guard !self.isScheduled, !self.waiting.isEmpty else { return }
        self.isScheduled = true
        self.eventLoop.assumeIsolated().scheduleTask(deadline: self.pausedUntil) {
            self.isScheduled = false
            self.runBatch()
            self.schedule()
        }
    }
}

/// The time limit for opening a connection.
///
/// The handlers of the connection share one timer, because the event loop searches its list of timers to cancel one.
final class HandshakeTimer: NIOScheduledCallbackHandler {
    /// Called when the time is up.
    ///
    /// Set by each handler when it takes over, and cleared on cancellation to break the reference cycle.
    var onTimeout: (() -> Void)?
    private var callback: NIOScheduledCallback?

    /// Starts the timer; must be called on the event loop.
    init(deadline: NIODeadline, on eventLoop: any EventLoop) {
        // This only fails when the event loop is shut down, which ends the connection.
        self.callback = try? eventLoop.assumeIsolated().scheduleCallback(at: deadline, handler: self)
    }

    func handleScheduledCallback(eventLoop: some EventLoop) { self.onTimeout?() }

    func cancel() {
        self.callback?.cancel()
        self.callback = nil
        self.onTimeout = nil
    }
}
