internal import Glibc
internal import NIOCore

/// The reason that a listener could not be created; correct the configuration.
package enum ListenError: Error, Hashable, Sendable {
    /// Another process listens on this address.
    case addressInUse(String)
    /// The user may not use this port or folder.
    case notAllowed(String)
    /// The path of a Unix socket is longer than the system's limit of 107 bytes.
    case pathTooLong(String)
    /// Any other error, in the system's words.
    case other(String)
}

extension ListenError {
    /// Converts an error of the system.
    init(_ error: any Error, address: String) {
        switch (error as? IOError)?.errnoCode {
        case EADDRINUSE: self = .addressInUse(address)
        case EACCES, EPERM: self = .notAllowed(address)
        case let code?: self = .other("\(address): errno \(code)")
        case nil: self = .other("\(address): \(error)")
        }
    }
}
