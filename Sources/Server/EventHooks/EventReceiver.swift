package import ChildPrograms

/// A receiver of event lines: a program or a socket.
package protocol EventReceiver: Sendable {
    /// The name shown in the log.
    var name: String { get }

    /// The kind shown in metrics.
    ///
    /// Must not contain text chosen by the operator.
    var kind: EventReceiverKind { get }

    /// Connects to the receiver while `feed` runs, and passes its messages to `messages`.
    ///
    /// Returns after `feed` has ended and all resources have been released. Returns promptly if the task is cancelled,
    /// even if the receiver is busy.
    func open(
        messages: ProgramMessages,
        _ feed: @escaping @Sendable (LineWriter) async throws -> Void
    ) async throws(ReceiverFailure)

    /// Kills any process started by the receiver, without waiting, because this process is about to exit.
    func endAtOnce()
}

extension EventReceiver {
    /// Does nothing.
    ///
    /// A receiver that was not started by this process keeps running.
    package func endAtOnce() {}
}

/// The kind of receiver.
package enum EventReceiverKind: String, Sendable, CaseIterable {
    case program
    case socket
}

/// Writes one line.
///
/// Returns once the receiver's end has accepted it.
package typealias LineWriter = @Sendable ([UInt8]) async throws -> Void

/// The reason a receiver is not accepting lines.
///
/// The feed always retries.
package enum ReceiverFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The program could not be started, or no process is listening on the socket.
    ///
    /// Check the path and its permissions.
    case notReached(String)
    /// The receiver closed its end.
    ///
    /// The unfinished line is written again after reopening.
    case ended(String)
    /// The receiver did not accept a line within the timeout and was closed.
    case stalled(Duration)

    package var description: String {
        switch self {
        case .notReached(let reason): "could not be opened: \(reason)"
        case .ended(let how): "ended: \(how)"
        case .stalled(let limit): "accepted no line for \(limit)"
        }
    }
}
