internal import Glibc
internal import NIOCore
internal import NIOPosix

/// Why there is no connection.
package enum ConnectError: Error, Hashable, Sendable {
    /// No network, or the name is unknown; again when the network is back.
    case noRoute
    /// The machine answers and nothing listens there; again later.
    case refused
    /// No answer in time; again later.
    case timedOut
    /// Somebody answers and is not the server that is trusted.
    case tls(TLSFailure)
}

extension ConnectError {
    /// What NIO or TLS said.
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

    /// The error to tell of those of a name's addresses.
    ///
    /// That one of them refused, or did not answer, says more than that another cannot be reached. None at all means
    /// that the name is unknown.
    private static func mostTelling(_ errors: [ConnectError]) -> ConnectError {
        if errors.contains(.refused) { return .refused }
        if errors.contains(.timedOut) { return .timedOut }
        return errors.first ?? .noRoute
    }
}
