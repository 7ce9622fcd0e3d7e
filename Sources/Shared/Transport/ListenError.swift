internal import Glibc
internal import NIOCore

/// An error that prevented a listener from being created.
///
/// The configuration needs to be corrected.
package enum ListenError: Error, Hashable, Sendable {
    /// Another process is already listening on this address.
    case addressInUse(String)
    /// The user is not allowed to use this port or folder.
    case notAllowed(String)
    /// The path of a Unix socket is longer than the system's limit of 107 bytes.
    case pathTooLong(String)
    /// Any other error, with the system's message.
    case other(String)
}

extension ListenError {
    /// Converts a system error.
    init(_ error: any Error, address: String) {
        switch (error as? IOError)?.errnoCode {
        case EADDRINUSE: self = .addressInUse(address)
        case EACCES, EPERM: self = .notAllowed(address)
        case let code?: self = .other("\(address): errno \(code)")
        case nil: self = .other("\(address): \(error)")
        }
    }
}
