internal import Glibc
internal import HostSystem
internal import NIOCore

/// An error that prevented a listener from being created.
///
/// The configuration needs to be corrected.
package enum ListenError: Error, Hashable, Sendable {
    /// Another process is already listening on this address.
    case addressInUse(String)
    /// A process is listening on this Unix socket.
    ///
    /// Its id is nil if the kernel does not name it, and may be that of this process.
    case served(String, by: Int32?)
    /// Another user made this Unix socket, and this user may not find out whether a process is listening on it.
    case foreignSocket(String, owner: UInt32)
    /// A file that is not a socket has the socket's name.
    case notASocket(String)
    /// The user is not allowed to use this port or folder.
    case notAllowed(String)
    /// The path of a Unix socket is longer than the system's limit of 107 bytes.
    case pathTooLong(String)
    /// Any other error, with the address and the reason.
    case other(String)
}

extension ListenError {
    /// Converts a system error.
    init(_ error: any Error, address: String) {
        if let code = (error as? IOError)?.errnoCode {
            self.init(errno: code, address: address)
        } else {
            self = .other("\(address): \(error)")
        }
    }

    /// Converts an error number.
    init(errno code: Int32, address: String) {
        switch code {
        case EADDRINUSE: self = .addressInUse(address)
        case EACCES, EPERM: self = .notAllowed(address)
        default: self = .other("\(address): \(ListenAddress.reason(code))")
        }
    }
}
