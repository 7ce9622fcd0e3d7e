/// An error that prevented a connection to a server from being opened, or that ended it later.
///
/// The connection is closed and counted.
package enum ConnectionFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The handshake or a later record failed.
    case tls(TLSFailure)
    /// The load balancer did not start with a valid header.
    case proxyHeader(ProxyHeaderFault)
    /// Too many handshakes were in progress, and a newer one displaced this one (``TransportLimits/handshakes``).
    case displaced

    package var description: String {
        switch self {
        case .tls(let failure): "\(failure)"
        case .proxyHeader(let fault): "PROXY protocol: \(fault.rawValue)"
        case .displaced: "displaced by a newer handshake"
        }
    }
}
