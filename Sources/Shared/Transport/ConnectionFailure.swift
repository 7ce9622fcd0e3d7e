/// The reason that a connection to a server did not open or failed later; it is closed and counted.
package enum ConnectionFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The handshake or a later record failed.
    case tls(TLSFailure)
    /// A load balancer did not begin with a valid header.
    case proxyHeader(ProxyHeaderFault)
    /// The handshake was one of the oldest when there were too many (``TransportLimits/handshakes``).
    case displaced

    package var description: String {
        switch self {
        case .tls(let failure): "\(failure)"
        case .proxyHeader(let fault): "PROXY protocol: \(fault.rawValue)"
        case .displaced: "displaced by a newer handshake"
        }
    }
}
