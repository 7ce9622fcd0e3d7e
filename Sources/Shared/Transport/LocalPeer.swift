internal import Glibc
internal import NIOCore

/// The process at the other end of a Unix socket, as the kernel reports it.
package struct LocalPeer: Hashable, Sendable {
    /// The effective user of the process when it connected.
    package let userID: UInt32
    package let processID: Int32
    /// The effective group and the supplementary groups of the process when it connected.
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

    /// As many groups as a peer of this listener may have.
    private typealias Groups = InlineArray<1024, UInt32>
    /// `SO_PEERGROUPS` of socket(7), which Glibc's module omits.
    private static let peerGroups = NIOBSDSocket.Option(rawValue: 59)

    /// The supplementary groups of the peer; none if it has more than ``Groups`` holds.
    ///
    /// Threat: a process that is not in a group gets its rights. The kernel keeps the list of the process that
    /// connected; a list that does not fit is an error of the kernel, and then gives no rights at all. The rest of
    /// the buffer is 0, so group 0 is left out; as effective group it counts.
    private static func groups(of socket: any SocketOptionProvider) async -> Set<UInt32> {
        let found: EventLoopFuture<Groups> = socket.unsafeGetSocketOption(level: .socket, name: Self.peerGroups)
        guard let groups = try? await found.get() else { return [] }
        return Set(groups.indices.lazy.map { groups[$0] }.filter { $0 != 0 })
    }

    /// Asks the kernel for the peer of a connection; nil if the kernel does not name one.
    static func other(endOf channel: any Channel) async -> LocalPeer? {
        guard let socket = channel as? any SocketOptionProvider else { return nil }
        let credentials: Credentials
        do {
            credentials = try await socket.unsafeGetSocketOption(level: .socket, name: .init(rawValue: SO_PEERCRED))
                .get()
        } catch {
            return nil
        }
        // Without a process id or a user id the credentials name no peer.
        guard credentials.processID > 0, credentials.userID != .max else { return nil }
        var groups = await Self.groups(of: socket)
        if credentials.groupID != .max { groups.insert(credentials.groupID) }
        return LocalPeer(userID: credentials.userID, processID: credentials.processID, groupIDs: groups)
    }
}
