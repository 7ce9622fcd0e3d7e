package import ChildPrograms
internal import NIOCore
internal import Subprocess

/// A receiver of event lines: a program or a socket.
package protocol EventReceiver: Sendable {
    /// The name shown in the log.
    var name: String { get }

    /// The kind shown in metrics.
    ///
    /// Must not contain text chosen by the operator.
    var kind: OperatorChannel.Kind { get }

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

/// A program or socket of the operator.
///
/// The program is started once and kept running, instead of being started for each event. This way, events keep their
/// order, a burst of events does not start a burst of processes, and only one process has to be killed if the program
/// hangs. A socket's connection is never read.
extension OperatorChannel: EventReceiver {
    /// The path without the arguments, since those may contain secrets.
    package var name: String { self.path }

    package func open(
        messages: ProgramMessages,
        _ feed: @escaping @Sendable (LineWriter) async throws -> Void
    ) async throws(ReceiverFailure) {
        switch self.kind {
        case .program:
            let status: TerminationStatus
            do {
                status = try await self.run(output: .discarded, messages: messages, feed).status
            } catch {
                throw .notReached("\(error)")
            }
            throw .ended(status.spoken)
        case .socket:
            let connection: NIOAsyncChannel<ByteBuffer, ByteBuffer>
            do { connection = try await self.connect(reads: false) } catch { throw .notReached("\(error)") }
            let channel = connection.channel
            do {
                try await connection.executeThenClose { _, _ in
                    try await withTaskCancellationHandler {
                        try await feed { line in try await channel.writeAndFlush(ByteBuffer(bytes: line)) }
                    } onCancel: {
                        channel.close(promise: nil)
                    }
                }
            } catch {
                throw .ended("\(error)")
            }
        }
    }
}
