internal import NIOCore
internal import NIOPosix

/// The steps of one event loop's handshakes, one after the other and with rests between them, in which open connections are served.
///
/// A client hello costs the server a key agreement and a signature; a flood of them, or a whole country's phones after an
/// outage, would otherwise be worked off in a row while every PIN check waits. So that never more than half of the loop's
/// time goes into handshakes, each turn of theirs is followed by a rest of as long as it took. A turn is short, and longer
/// where the loop had much else to do since the last one: a third of its time is left to newcomers however busy it
/// is. Those that wait are handshakes in progress, of which there are at most ``TransportLimits/handshakes``.
final class HandshakePacer {
    private let eventLoop: any EventLoop
    private let now: () -> NIODeadline
    private var waiting = CircularBuffer<() -> Void>()
    private var lastEnd: NIODeadline
    private var pausedUntil = NIODeadline.uptimeNanoseconds(0)
    private var isScheduled = false

    /// What a turn may take at least: some handshakes, and less than a commit of the store.
    private static let shortTurn = TimeAmount.milliseconds(2)
    /// What it may take at most, one handshake more or less.
    private static let longTurn = TimeAmount.milliseconds(50)
    /// No rest is longer, whatever a machine that was asleep says.
    private static let longestPause = TimeAmount.milliseconds(5)
    /// Each thread has its loop's.
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

    /// The event loop's own; called on it.
    static func of(_ eventLoop: any EventLoop) -> HandshakePacer {
        if let bound = Self.ofThread.currentValue { return bound.pacer.value }
        let pacer = HandshakePacer(on: eventLoop)
        Self.ofThread.currentValue = Bound(pacer)
        return pacer
    }

    /// Does it now, or when those before it are done and the loop has rested.
    func run(_ work: @escaping () -> Void) {
        if self.waiting.isEmpty, self.now() >= self.pausedUntil {
            let start = self.now()
            work()
            self.rest(since: start)
        } else {
            self.waiting.append(work)
            self.schedule()
        }
    }

    private func takeTurn() {
        let start = self.now()
        let sinceLast = TimeAmount.nanoseconds((start - self.lastEnd).nanoseconds / 2)
        let end = start + min(max(Self.shortTurn, sinceLast), Self.longTurn)
        repeat {
            self.waiting.popFirst()?()
        } while !self.waiting.isEmpty && self.now() < end
        self.rest(since: start)
    }

    private func rest(since start: NIODeadline) {
        self.lastEnd = self.now()
        self.pausedUntil = self.lastEnd + min(self.lastEnd - start, Self.longestPause)
    }

    private func schedule() {
        guard !self.isScheduled, !self.waiting.isEmpty else { return }
        self.isScheduled = true
        self.eventLoop.assumeIsolated().scheduleTask(deadline: self.pausedUntil) {
            self.isScheduled = false
            self.takeTurn()
            self.schedule()
        }
    }
}
