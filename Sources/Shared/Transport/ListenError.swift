internal import Glibc
internal import NIOCore

/// Why a listener could not be made.
///
/// Mend the configuration.
package enum ListenError: Error, Hashable, Sendable {
    /// Another process listens there.
    case addressInUse(String)
    /// Ports or folders that this user may not use.
    case notAllowed(String)
    /// A Unix socket's path is longer than the system takes, 107 bytes.
    case pathTooLong(String)
    /// Anything else, in the system's words.
    case other(String)
}

extension ListenError {
    /// What the system said.
    init(_ error: any Error, address: String) {
        switch (error as? IOError)?.errnoCode {
        case EADDRINUSE: self = .addressInUse(address)
        case EACCES, EPERM: self = .notAllowed(address)
        case let code?: self = .other("\(address): errno \(code)")
        case nil: self = .other("\(address): \(error)")
        }
    }
}
