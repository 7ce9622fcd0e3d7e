internal import NIOCore
internal import NIOPosix

/// The queue of handshake steps on one event loop, with pauses in which the loop serves open connections.
///
/// A ClientHello costs the server a key agreement and a signature. A flood of them, or all phones
/// reconnecting after an outage, would otherwise be processed in a row while every PIN check waits.
/// After each batch of steps the loop does all other work that is ready; a loop without other work
/// continues at once. A batch takes half the time of that work, but at least one step, so that
/// handshakes get a third of a busy loop's time. The queue holds handshakes in progress only, at
/// most ``TransportLimits/handshakes``.
final class HandshakePacer {
    private let eventLoop: any EventLoop
    private let now: () -> NIODeadline
    private var waiting = CircularBuffer<() -> Void>()
    private var lastEnd: NIODeadline
    private var pausedUntil = NIODeadline.uptimeNanoseconds(0)
    private var isScheduled = false

    /// The maximum time of a batch, exceeded by one handshake at most.
    private static let longBatch = TimeAmount.milliseconds(50)
    /// The time after which the next batch is due.
    ///
    /// The loop looks for other work before a task that is due later, but not before one that is
    /// due now. If it finds some, the pause lasts until that is done.
    private static let pause = TimeAmount.microseconds(20)
    /// The pacer of the current thread's event loop.
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

    /// The pacer of an event loop; called on that loop.
    static func of(_ eventLoop: any EventLoop) -> HandshakePacer {
        if let bound = Self.ofThread.currentValue { return bound.pacer.value }
        let pacer = HandshakePacer(on: eventLoop)
        Self.ofThread.currentValue = Bound(pacer)
        return pacer
    }

    /// Runs `work` immediately, or after the queued steps and the pause.
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
