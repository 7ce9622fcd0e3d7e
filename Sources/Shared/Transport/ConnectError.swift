internal import Glibc
internal import NIOCore
internal import NIOPosix

/// The reason that a connection could not be established.
package enum ConnectError: Error, Hashable, Sendable {
    /// The network is down or the name is unknown; retry when the network is back.
    case noRoute
    /// The host is up but no process listens on the port; retry later.
    case refused
    /// The host did not answer in time; retry later.
    case timedOut
    /// The peer is not the trusted server, or TLS failed otherwise.
    case tls(TLSFailure)
}

extension ConnectError {
    /// Converts an error of NIO or TLS.
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

    /// Selects the error to report from the errors of a name's addresses.
    ///
    /// A refusal or a timeout of one address is more informative than an unreachable other one. An
    /// empty list means that the name is unknown.
    private static func mostTelling(_ errors: [ConnectError]) -> ConnectError {
        if errors.contains(.refused) { return .refused }
        if errors.contains(.timedOut) { return .timedOut }
        return errors.first ?? .noRoute
    }
}
