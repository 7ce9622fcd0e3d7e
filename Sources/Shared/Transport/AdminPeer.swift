internal import Glibc
internal import NIOCore

/// Who gives commands over a Unix socket, as the kernel says.
package struct AdminPeer: Hashable, Sendable {
    /// The user that the process acted as when it connected.
    package let userID: UInt32
    package let processID: Int32

    package init(userID: UInt32, processID: Int32) {
        self.userID = userID
        self.processID = processID
    }

    /// What unix(7) calls `struct ucred`, which Glibc's module leaves out.
    private struct Credentials {
        var processID: Int32 = 0
        var userID: UInt32 = .max
        var groupID: UInt32 = .max
    }

    /// The other end of a connection; nil where the kernel does not say, and then nobody is served.
    static func other(endOf channel: any Channel) async -> AdminPeer? {
        guard let socket = channel as? any SocketOptionProvider else { return nil }
        let credentials: Credentials
        do {
            credentials = try await socket.unsafeGetSocketOption(level: .socket, name: .init(rawValue: SO_PEERCRED))
                .get()
        } catch {
            return nil
        }
        // A process of another user namespace has the number of nobody; what has none is no peer.
        guard credentials.processID > 0, credentials.userID != .max else { return nil }
        return AdminPeer(userID: credentials.userID, processID: credentials.processID)
    }
}
