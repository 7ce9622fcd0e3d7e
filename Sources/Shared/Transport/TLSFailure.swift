internal import COpenSSL

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

extension TLSFailure {
    /// `SSL_AD_REASON_OFFSET`: a peer's alert becomes this reason plus its number.
    private static let alertOffset: Int32 = 1000
    private static let noApplicationProtocolAlert: Int32 = 120

    /// What the error queue says, which is cleared.
    ///
    /// The only callback that fails is the one that looks for a protocol's name.
    ///
    /// - Parameter verifyResult: `SSL_get_verify_result`, the reason when it was the certificate.
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
