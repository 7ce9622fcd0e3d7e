internal import Glibc
internal import HostSystem
internal import NIOCore
internal import Synchronization
package import Wire

/// A Unix socket on which a server accepts calls from processes on the same machine.
///
/// The socket's file permissions determine which processes can connect: only those of the server's user (mode 0600) or,
/// if a group is set, also those of the group's members (mode 0660). The mode is set before the socket starts
/// listening. For each connection, the kernel tells us which user it belongs to.
package final class LocalListener: Sendable {
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
                // rule: transport-portal-without-backoff
                if !answer.isUse { try? await Task.sleep(for: self.portalBackoff) }
            }
        }
    }

    /// Stops accepting calls and removes the socket.
    ///
    /// Calls in progress are still answered.
    package func stop() { self.listener.stop() }
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

extension LocalListener {
    /// Answers the deletion portal's requests, one at a time on each connection, until ``stop()`` is called or the task
    /// is cancelled.
    ///
    /// This socket only accepts ``PortalRequest``. An attacker who takes over the portal cannot do any more than a
    /// browser can, because operators' commands use a different socket.
    ///
    /// - Parameter answer: Returns nil if the outcome is unknown, in which case the connection ends without an answer.
    package func servePortal(_ answer: @escaping @Sendable (PortalRequest) async -> PortalResult?) async {
        await self.serve { frame, _ in
            let response: PortalResponse
            do throws(WireError) {
                let request = try PortalRequest(decoding: frame)
                guard let result = await answer(request) else { return nil }
                response = PortalResponse(id: request.id, result: result)
            } catch {
                response = PortalResponse(id: error.id ?? 0, result: .malformed)
            }
            return Answer(response.encoded(), isUse: response.result.isUse)
        }
    }
}

extension PortalResult {
    /// Whether the server has looked up a code.
    fileprivate var isUse: Bool {
        switch self {
        case .revoked, .notRecognised: true
        case .rateLimited, .unavailable, .malformed: false
        }
    }
}

/// The process at the other end of a Unix socket, as reported by the kernel.
package struct LocalPeer: Hashable, Sendable {
    /// The process's effective user at the time it connected.
    package let userID: UInt32
    package let processID: Int32
    /// The process's effective group and supplementary groups at the time it connected.
    package let groupIDs: Set<UInt32>

    package init(userID: UInt32, processID: Int32, groupIDs: Set<UInt32> = []) {
        self.userID = userID
        self.processID = processID
        self.groupIDs = groupIDs
    }

    /// `struct ucred` of unix(7), which Glibc's module omits.
    private struct Credentials {
        var processID: Int32 = 0
        var userID: UInt32 = .max
        var groupID: UInt32 = .max
    }

    /// The maximum number of groups a peer of this listener may have.
    private typealias Groups = InlineArray<1024, UInt32>
    /// `SO_PEERGROUPS` of socket(7), which Glibc's module omits.
    private static let peerGroups = NIOBSDSocket.Option(rawValue: 59)

    /// Returns the peer's supplementary groups, or none if it has more of them than fit into ``Groups``.
    ///
    /// Threat: a process could be given the rights of a group it is not in. The kernel remembers the groups of the
    /// process that connected. If they do not fit, the call fails and the process gets no group's rights at all. The
    /// unused part of the buffer is all zeros, so group 0 is left out here. It still counts as an effective group.
    private static func groups(of socket: any SocketOptionProvider) async -> Set<UInt32> {
        let found: EventLoopFuture<Groups> = socket.unsafeGetSocketOption(level: .socket, name: Self.peerGroups)
        guard let groups = try? await found.get() else { return [] }
        return Set(groups.indices.lazy.map { groups[$0] }.filter { $0 != 0 })
    }

    /// Returns the user of a connection's peer.
    static func user(endOf channel: any Channel) -> EventLoopFuture<UInt32> {
        guard let socket = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
        }
        return socket.unsafeGetSocketOption(level: .socket, name: .init(rawValue: SO_PEERCRED))
            .map { (credentials: Credentials) in credentials.userID }
    }

    /// Returns the process that listens on the socket to which a client socket is connected, or nil if the kernel does
    /// not know it.
    static func process(listeningFor client: CInt) -> Int32? {
        var credentials = Credentials()
        var length = socklen_t(MemoryLayout<Credentials>.size)
        guard unsafe getsockopt(client, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else { return nil }
        return credentials.processID > 0 ? credentials.processID : nil
    }

    /// Asks the kernel for a connection's peer; returns nil if the kernel does not know.
    static func other(endOf channel: any Channel) async -> LocalPeer? {
        guard let socket = channel as? any SocketOptionProvider else { return nil }
        let credentials: Credentials
        do {
            credentials = try await socket.unsafeGetSocketOption(level: .socket, name: .init(rawValue: SO_PEERCRED))
                .get()
        } catch {
            return nil
        }
        // If there is no process id or user id, the credentials do not identify a peer.
        guard credentials.processID > 0, credentials.userID != .max else { return nil }
        var groups = await Self.groups(of: socket)
        if credentials.groupID != .max { groups.insert(credentials.groupID) }
        return LocalPeer(userID: credentials.userID, processID: credentials.processID, groupIDs: groups)
    }
}
