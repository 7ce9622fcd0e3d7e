internal import Glibc
internal import NIOCore
internal import NIOPosix

/// An error that prevented a connection from being established.
package enum ConnectError: Error, Hashable, Sendable {
    /// The network is down or the name cannot be resolved. Retry when the network is back.
    case noRoute
    /// The host is up, but nothing is listening on the port. Retry later.
    case refused
    /// The host did not answer in time.
    ///
    /// Retry later.
    case timedOut
    /// The peer is not the trusted server, or TLS failed for another reason.
    case tls(TLSFailure)
}

extension ConnectError {
    /// Converts an error from NIO or TLS.
    init(_ error: any Error) {
        switch error {
        case let failure as TLSFailure:
            self = failure == .timedOut ? .timedOut : .tls(failure)
        case let failure as NIOConnectionError:
            self = Self.mostTelling(failure.connectionErrors.map { Self($0.error) })
        case let failure as IOError where failure.errnoCode == ECONNREFUSED || failure.errnoCode == ENOENT:
            self = .refused
        case ChannelError.connectTimeout:
            self = .timedOut
        case is ChannelError:
            self = .tls(.endedEarly)
        default:
            self = .noRoute
        }
    }

    /// Chooses which error to report if none of a name's addresses could be connected to.
    ///
    /// If one address refused the connection or timed out, this is more useful to the user than another address being
    /// unreachable. If the list is empty, the name could not be resolved.
    private static func mostTelling(_ errors: [ConnectError]) -> ConnectError {
        if errors.contains(.refused) { return .refused }
        if errors.contains(.timedOut) { return .timedOut }
        return errors.first ?? .noRoute
    }
}
