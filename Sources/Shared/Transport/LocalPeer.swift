internal import Glibc
internal import NIOCore

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

    /// Asks the kernel for a connection's peer.
    ///
    /// Returns nil if the kernel does not know.
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
