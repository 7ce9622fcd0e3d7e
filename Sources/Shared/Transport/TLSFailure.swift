internal import COpenSSL

/// The reason a TLS connection failed, either during the handshake or later.
///
/// The connection is closed.
///
/// Retrying only makes sense after ``timedOut`` and ``endedEarly``. In all other cases, it would fail in the same way.
package enum TLSFailure: Error, Hashable, Sendable {
    /// The server's certificate is not trusted, for the reason given by libssl.
    case untrusted(String)
    /// The certificate is trusted, but not valid for the name.
    case wrongName
    /// The peer does not speak `remote-pin/1`.
    case noCommonProtocol
    /// The peer ended the handshake with this alert (RFC 8446 §6.2).
    case refusedByPeer(alert: Int)
    /// The connection ended during the handshake.
    case endedEarly
    /// The handshake or a record exceeded its time limit.
    case timedOut
    /// The received bytes are not TLS 1.3 or were tampered with. The text is libssl's error message.
    case broken(String)
}

extension TLSFailure {
    /// `SSL_AD_REASON_OFFSET`, which libssl adds to the number of a peer's alert to get the reason.
    private static let alertOffset: Int32 = 1000
    private static let noApplicationProtocolAlert: Int32 = 120

    /// Converts the error queue into a failure and clears it.
    ///
    /// The ALPN callback is the only one that can fail.
    ///
    /// - Parameter verifyResult: The result of `SSL_get_verify_result`, which is the reason if the certificate was
    ///   rejected.
    static func take(verifyResult: Int) -> TLSFailure {
        let error = OpenSSLError.take(of: ERR_LIB_SSL)
        guard error.library == ERR_LIB_SSL else { return .broken(error.text) }
        switch error.reason {
        case SSL_R_CERTIFICATE_VERIFY_FAILED:
            switch Int32(truncatingIfNeeded: verifyResult) {
            case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
                return .wrongName
            default:
                let text = unsafe X509_verify_cert_error_string(verifyResult).map { unsafe String(cString: $0) }
                return .untrusted(text ?? "error \(verifyResult)")
            }
        case SSL_R_NO_APPLICATION_PROTOCOL, SSL_R_CALLBACK_FAILED, self.alertOffset + self.noApplicationProtocolAlert:
            return .noCommonProtocol
        case self.alertOffset..<self.alertOffset + 256:
            return .refusedByPeer(alert: Int(error.reason - self.alertOffset))
        default:
            return .broken(error.text)
        }
    }
}
