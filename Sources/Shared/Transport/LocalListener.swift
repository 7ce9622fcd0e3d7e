internal import Vocabulary

/// A Unix socket on which a server takes calls from processes on the same machine.
///
/// The permissions of the socket's file decide which processes can connect: only those of the server's user (mode
/// 0600), or also those of a group's members if a group is set (mode 0660). The mode is set before the socket starts
/// listening. For each connection, the kernel tells us which user it belongs to.
package final class LocalListener: Sendable {
    /// The answer to a call.
    package struct Answer: Sendable {
        /// At most ``LocalListener/longestAnswer`` bytes.
        package var frame: [UInt8]
        /// True if the server did some work for the call.
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

    /// Listens at `path`, replacing a socket left behind by an earlier process.
    ///
    /// - Parameters:
    ///   - group: the group whose members can connect in addition to the owner.
    ///   - observer: notified of connections that exceed `limits`.
    ///   - busyAnswer: the frame sent on such a connection before it is closed.
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
    /// Threat: an attacker who controls a connected process can send calls without pause. Answering calls that need no
    /// work would keep an event loop from serving wallets, so there is a pause after each of them.
    ///
    /// - Parameter answer: returns nil to close the connection without an answer.
    package func serve(_ answer: @escaping @Sendable ([UInt8], LocalPeer) async -> Answer?) async {
        await self.listener.serve { opened in
            // Every call must be attributed to a user, so we close the connection if we do not know who it belongs to.
            guard let peer = await LocalPeer.other(endOf: opened.frames.channel) else { return }
            while case .frame(let call) = await opened.frames.next() {
                guard let answer = await answer(call, peer) else { return }
                guard await opened.frames.send(answer.frame, isUse: answer.isUse) else { return }
                // The sleep is cancelled when the listener stops, and the connection then ends at the next call.
                if !answer.isUse { try? await Task.sleep(for: self.rest) }
            }
        }
    }

    /// Stops taking calls and removes the socket; calls in progress are still answered.
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

    /// The limits of the deletion portal's socket: one connection for each code being looked up concurrently.
    ///
    /// The portal does not serve more requests than that at once, and each connection holds a file descriptor.
    package static let portal = TransportLimits.local(connections: 600)
}
