internal import NIOCore

/// The time at which an idle connection is closed.
///
/// Only a useful answer restarts the timeout; nothing that the peer sends does. A call in progress
/// at the deadline extends it once, by the time that a frame may take.
struct IdleTimeout {
    /// Nil if the connection may be idle without limit, as on a client.
    var limit: TimeAmount?
    private let callExtension: TimeAmount
    private var start = NIODeadline.distantPast
    /// Frames that were received and not answered yet.
    private var unansweredCount = 0

    init(limit: Duration?, callExtension: Duration) {
        self.limit = limit.map(TimeAmount.init)
        self.callExtension = TimeAmount(callExtension)
    }

    /// The time at which to close the connection; nil for never.
    var deadline: NIODeadline? {
        self.limit.map { self.start + $0 + (self.unansweredCount > 0 ? self.callExtension : .zero) }
    }

    /// Restarts the time: the connection was opened or had a useful answer.
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
