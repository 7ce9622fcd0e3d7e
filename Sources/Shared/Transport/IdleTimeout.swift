internal import NIOCore

/// Decides when an idle connection is closed.
///
/// The timeout is restarted only by a useful answer, never by anything the peer sends. If a call is in progress at the
/// deadline, the deadline is extended once, by the time limit for a frame.
struct IdleTimeout {
    /// Nil if the connection may stay idle forever, as on a client.
    var limit: TimeAmount?
    private let callExtension: TimeAmount
    private var start = NIODeadline.distantPast
    /// The number of received frames that have not been answered yet.
    private var unansweredCount = 0

    init(limit: Duration?, callExtension: Duration) {
        self.limit = limit.map(TimeAmount.init)
        self.callExtension = TimeAmount(callExtension)
    }

    /// The time to close the connection, or nil if it should stay open.
    var deadline: NIODeadline? {
        self.limit.map { self.start + $0 + (self.unansweredCount > 0 ? self.callExtension : .zero) }
    }

    /// Restarts the timeout because the connection was opened or a useful answer was sent.
    mutating func restart(at now: NIODeadline) {
        self.start = now
    }

    mutating func frameReceived() {
        self.unansweredCount += 1
    }

    mutating func frameAnswered() {
        self.unansweredCount = max(0, self.unansweredCount - 1)
    }
}
