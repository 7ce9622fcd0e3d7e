internal import HostSystem
internal import Synchronization

/// A Unix socket on which a server accepts calls from processes on the same machine.
///
/// The socket's file permissions determine which processes can connect: only those of the server's user (mode 0600) or,
/// if a group is set, also those of the group's members (mode 0660). The mode is set before the socket starts
/// listening. For each connection, the kernel tells us which user it belongs to.
package final class LocalListener: Sendable {
    /// The answer to a call.
    package struct Answer: Sendable {
        /// The answer, which must not be longer than ``LocalListener/longestAnswer`` bytes.
        package var frame: [UInt8]
        /// Whether the server did some work for the call.
        ///
        /// If not, the answer does not restart the idle timeout, and the connection is not read for
        /// ``TransportLimits/portalBackoff`` after it.
        package var isUse: Bool

        package init(_ frame: [UInt8], isUse: Bool) {
            self.frame = frame
            self.isUse = isUse
        }
    }

    /// Returns the frame that tells a client why its connection is not served.
    package typealias BusyAnswer = @Sendable (RefusedConnections.Reason) -> [UInt8]

    /// The maximum length of an answer in bytes.
    package static let longestAnswer = Frame.longestByteCount

    private let listener: ConnectionListener
    private let path: String
    private let group: UInt32?
    private let portalBackoff: Duration
    private let renewals = AsyncLock()

    private init(_ listener: ConnectionListener, path: String, group: UInt32?, portalBackoff: Duration) {
        self.listener = listener
        self.path = path
        self.group = group
        self.portalBackoff = portalBackoff
    }

    /// Listens at `path`, replacing a socket left behind by an earlier process.
    ///
    /// - Parameters:
    ///   - group: A group whose members can connect in addition to the owner.
    ///   - observer: Notified about connections that exceed the limits.
    ///   - busyAnswer: Returns the frame to send on such a connection before it is closed.
    package static func bind(
        path: String,
        group: UInt32? = nil,
        limits: TransportLimits,
        observer: ListenerObserver = ListenerObserver(),
        busyAnswer: BusyAnswer? = nil
    ) async throws(ListenError) -> LocalListener {
        let listener = ConnectionListener(limits: limits, observer: observer, busyAnswer: busyAnswer)
        try await listener.bind(unixSocket: path, group: group)
        return LocalListener(listener, path: path, group: group, portalBackoff: limits.portalBackoff)
    }

    /// Whether clients can reach the socket: its file was neither removed nor replaced.
    package var isInPlace: Bool { self.listener.state.withLock { $0.file?.isInPlace ?? false } }

    /// Makes the socket again if its file was removed, for example with other files in a runtime folder.
    ///
    /// Existing connections stay open. Throws if another process listens at the path now.
    package func renew() async throws(ListenError) {
        await self.renewals.acquire()
        defer { self.renewals.release() }
        guard !self.isInPlace else { return }
        try await self.listener.bind(unixSocket: self.path, group: self.group)
    }

    /// Answers calls, one at a time on each connection, until ``stop()`` is called or the task is cancelled.
    ///
    /// Threat: an attacker who controls a connected process can send calls without pause. Answering calls that require
    /// no work would keep an event loop from serving wallets, so each of them is followed by a pause.
    ///
    /// - Parameter answer: Returns nil to close the connection without an answer.
    package func serve(_ answer: @escaping @Sendable ([UInt8], LocalPeer) async -> Answer?) async {
        await self.listener.serve { opened in
            // Every call must be attributed to a user, so close the connection if we do not know who it belongs to.
            guard let peer = await LocalPeer.other(endOf: opened.frames.channel) else { return }
            while case .frame(let call) = await opened.frames.next() {
                guard let answer = await answer(call, peer) else { return }
                guard await opened.frames.send(answer.frame, isUse: answer.isUse) else { return }
                // The sleep is cancelled when the listener stops, and the connection then ends at the next call.
                if !answer.isUse { try? await Task.sleep(for: self.portalBackoff) }
            }
        }
    }

    /// Stops accepting calls and removes the socket.
    ///
    /// Calls in progress are still answered.
    package func stop() {
        self.listener.stop()
    }
}

extension TransportLimits {
    /// The limits for the operators' socket, used by a few people and their scripts.
    ///
    /// Threat: users who may open the socket, but have no role, take all places, and no operator can revoke a wallet.
    /// Root and the server's user always find one, even if they run many commands at once. Each connection uses a file
    /// descriptor.
    package static var admin: TransportLimits {
        var limits = TransportLimits.local(connections: 64)
        limits.connectionsPerSource = 16
        limits.keptForPrivileged = 16
        limits.portalBackoff = .zero
        // A command on a large store may take this long, which is also how long its caller waits.
        limits.idleWithoutSession = .seconds(60)
        return limits
    }

    /// The limits for the deletion portal's socket, which needs a connection for each code being looked up
    /// concurrently.
    ///
    /// The portal does not serve more requests than that at once, and each connection uses a file descriptor.
    package static let portal = TransportLimits.local(connections: 600)
}
