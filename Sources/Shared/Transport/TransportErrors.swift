/// Why a TLS connection did not come about or cannot go on.
///
/// It is closed; the same again will fail the same way, except for ``timedOut`` and ``endedEarly``.
package enum TLSFailure: Error, Hashable, Sendable {
    /// The server's certificate is not one that the trust admits; libssl's words for it.
    case untrusted(String)
    /// The certificate is trusted and is not for the name.
    case wrongName
    /// The peer does not speak `remote-pin/1`.
    case noCommonProtocol
    /// The peer ended the handshake with this alert (RFC 8446 §6.2).
    case refusedByPeer(alert: Int)
    /// The connection ended before the handshake did.
    case endedEarly
    /// The handshake took longer than it may.
    case timedOut
    /// What arrived is not TLS 1.3, or was tampered with; libssl's words for it.
    case broken(String)
}

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

/// Why a certificate, a key or a trust cannot be used.
///
/// Mend the file; nothing was changed.
package enum TLSContextError: Error, Hashable, Sendable {
    /// The certificate chain's file cannot be read or holds none.
    case certificate(path: String, reason: String)
    /// The key's file cannot be read, is encrypted, or holds none.
    case key(path: String, reason: String)
    /// Key and certificate are not a pair.
    case keyOfAnotherCertificate(path: String)
    /// There is no certificate among the trusted ones, or one of them cannot be read.
    case trust
    /// Neither a DNS name nor an IP address.
    case serverName(String)
}

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

/// Why a call has no answer.
///
/// Whether the server did what was asked is not known.
package enum CallError: Error, Hashable, Sendable {
    /// The connection has ended; again on a new one.
    case closed
    /// No answer in time; the connection lives, a late answer is ignored.
    case timedOut
    /// The answer cannot be read; the connection is closed.
    case malformed
    /// The calling task was cancelled; a late answer is ignored.
    case cancelled
}
