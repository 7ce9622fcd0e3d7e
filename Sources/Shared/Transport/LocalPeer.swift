internal import Glibc
internal import NIOCore

/// The process at the other end of a Unix socket, as the kernel reports it.
package struct LocalPeer: Hashable, Sendable {
    /// The effective user of the process when it connected.
    package let userID: UInt32
    package let processID: Int32

    package init(userID: UInt32, processID: Int32) {
        self.userID = userID
        self.processID = processID
    }

    /// `struct ucred` of unix(7), which Glibc's module omits.
    private struct Credentials {
        var processID: Int32 = 0
        var userID: UInt32 = .max
        var groupID: UInt32 = .max
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
        return LocalPeer(userID: credentials.userID, processID: credentials.processID)
    }
}
