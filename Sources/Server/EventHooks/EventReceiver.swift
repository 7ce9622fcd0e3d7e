/// Who gets lines: a program or a socket.
package protocol EventReceiver: Sendable {
    /// For the log.
    var name: String { get }

    /// For metrics, which must not name what operators may choose.
    var kind: EventReceiverKind { get }

    /// Opens a way to the receiver for as long as `feed` runs; returns when that has ended and nothing of it is left.
    ///
    /// Ends at once where the task is cancelled, however busy the receiver is.
    func open(_ feed: @escaping @Sendable (LineWriter) async throws -> Void) async throws(ReceiverFailure)

    /// Ends what the receiver has started, without waiting: this process ends next.
    func endAtOnce()
}

extension EventReceiver {
    /// One that was not started here goes on.
    package func endAtOnce() {}
}

/// What a receiver is.
package enum EventReceiverKind: String, Sendable, CaseIterable {
    case program
    case socket
}

/// Writes one line, and returns when the receiver's side has taken it.
package typealias LineWriter = @Sendable ([UInt8]) async throws -> Void

/// Why a receiver takes no lines at present; it is tried again in any case.
package enum ReceiverFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The program could not be started, or nobody listens on the socket: look at the path and its permissions.
    case notReached(String)
    /// It closed its end: the line that was on its way is written again to the next one.
    case ended(String)
    /// It did not take a line for so long, and was cut off.
    case stalled(Duration)

    package var description: String {
        switch self {
        case .notReached(let reason): "not reached: \(reason)"
        case .ended(let how): "it ended: \(how)"
        case .stalled(let limit): "it took no line for \(limit)"
        }
    }
}
