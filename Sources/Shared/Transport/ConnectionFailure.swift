/// Why a connection to a server did not open, or ended although its peer could have gone on.
///
/// It is closed; nothing is to be done, but to count it.
package enum ConnectionFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// Of the handshake, or of a record later.
    case tls(TLSFailure)
    /// A balancer did not begin with the header that it has to send.
    case proxyHeader(ProxyHeaderFault)
    /// It was one of the oldest that were not open yet when there were too many (``TransportLimits/handshakes``).
    case displaced

    package var description: String {
        switch self {
        case .tls(let failure): "\(failure)"
        case .proxyHeader(let fault): "PROXY protocol: \(fault.rawValue)"
        case .displaced: "displaced by a newer handshake"
        }
    }
}
