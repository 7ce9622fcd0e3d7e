internal import Vocabulary

/// A Unix socket on which a server takes calls from processes of the same machine.
///
/// The permissions of the socket's file decide which processes can connect: those of the server's user (mode 0600) and,
/// with a group, those of the group's members (mode 0660). The mode is set before the socket listens. The kernel names
/// the user of each connection.
package final class LocalListener: Sendable {
    /// The answer to a call.
    package struct Answer: Sendable {
        /// At most ``LocalListener/longestAnswer`` bytes.
        package var frame: [UInt8]
        /// True if the call did some work.
        ///
        /// Other answers do not restart the idle timeout, and the connection is not read for ``TransportLimits/rest``
        /// after them.
        package var isUse: Bool

        package init(_ frame: [UInt8], isUse: Bool) {
            self.frame = frame
            self.isUse = isUse
        }
    }

    /// The largest answer, in bytes.
    package static let longestAnswer = Frame.longestByteCount

    private let listener: ConnectionListener
    private let rest: Duration

    private init(_ listener: ConnectionListener, rest: Duration) {
        self.listener = listener
        self.rest = rest
    }

    /// Listens at `path`, replacing a socket that an earlier process left there.
    ///
    /// - Parameters:
    ///   - group: the group whose members can connect in addition to the owner.
    ///   - observer: notified of connections that exceed `limits`.
    ///   - busyAnswer: the frame that such a connection gets before it is closed.
    /// - Precondition: no other process serves this folder. The caller holds the folder's lock.
    package static func bind(
        path: String,
        group: UInt32? = nil,
        limits: TransportLimits,
        observer: ListenerObserver = ListenerObserver(),
        busyAnswer: [UInt8]? = nil
    ) async throws(ListenError) -> LocalListener {
        let listener = ConnectionListener(limits: limits, observer: observer, busyAnswer: busyAnswer)
        try await listener.bind(unixSocket: path, group: group)
        return LocalListener(listener, rest: limits.rest)
    }

    /// Answers calls, one after another on each connection, until ``stop()`` or cancellation.
    ///
    /// Threat: an attacker who controls a connected process sends calls without pause. Answers that need no work would
    /// keep an event loop from serving wallets, so each is followed by a pause.
    ///
    /// - Parameter answer: returns nil to close the connection without an answer.
    package func serve(_ answer: @escaping @Sendable ([UInt8], LocalPeer) async -> Answer?) async {
        await self.listener.serve { opened in
            // Every call is attributed to a user, so a connection without one is closed.
            guard let peer = await LocalPeer.other(endOf: opened.frames.channel) else { return }
            while case .frame(let call) = await opened.frames.next() {
                guard let answer = await answer(call, peer) else { return }
                guard await opened.frames.send(answer.frame, isUse: answer.isUse) else { return }
                // Cancelled when the listener stops; the connection then ends at the next call.
                if !answer.isUse { try? await Task.sleep(for: self.rest) }
            }
        }
    }

    /// Takes no more calls and removes the socket; the calls in progress are still answered.
    package func stop() {
        self.listener.stop()
    }
}

extension TransportLimits {
    /// The limits of the operators' socket, which a few people and their scripts use.
    ///
    /// Each connection holds a file descriptor.
    package static var admin: TransportLimits {
        var limits = TransportLimits.local(connections: 64)
        limits.rest = .zero
        return limits
    }

    /// The limits of the deletion portal's socket: one connection for each code that is looked up at a time.
    ///
    /// The portal itself serves no more requests at once, and each connection holds a file descriptor.
    package static let portal = TransportLimits.local(connections: 600)
}
