internal import COpenSSL

/// The reason that a TLS connection could not be established or cannot continue; it is closed.
///
/// A retry fails in the same way, except after ``timedOut`` and ``endedEarly``.
package enum TLSFailure: Error, Hashable, Sendable {
    /// The server's certificate is not trusted; libssl's text for the reason.
    case untrusted(String)
    /// The certificate is trusted but not valid for the name.
    case wrongName
    /// The peer does not speak `remote-pin/1`.
    case noCommonProtocol
    /// The peer ended the handshake with this alert (RFC 8446 §6.2).
    case refusedByPeer(alert: Int)
    /// The connection ended before the handshake did.
    case endedEarly
    /// The handshake or a record exceeded its time limit.
    case timedOut
    /// The received bytes are not TLS 1.3 or were tampered with; libssl's text for the reason.
    case broken(String)
}

extension TLSFailure {
    /// `SSL_AD_REASON_OFFSET`: the reason for a peer's alert is this offset plus the alert's number.
    private static let alertOffset: Int32 = 1000
    private static let noApplicationProtocolAlert: Int32 = 120

    /// Converts the error queue to a failure and clears it.
    ///
    /// The only callback that can fail is the one for ALPN.
    ///
    /// - Parameter verifyResult: `SSL_get_verify_result`, the reason if the certificate was rejected.
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
