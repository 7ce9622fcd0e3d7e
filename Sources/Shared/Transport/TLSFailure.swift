internal import COpenSSL
internal import Glibc

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
            case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: return .wrongName
            default:
                let text = unsafe X509_verify_cert_error_string(verifyResult).map { unsafe String(cString: $0) }
                return .untrusted(text ?? "error \(verifyResult)")
            }
        case SSL_R_NO_APPLICATION_PROTOCOL, SSL_R_CALLBACK_FAILED, self.alertOffset + self.noApplicationProtocolAlert:
            return .noCommonProtocol
        case self.alertOffset..<self.alertOffset + 256:
            return .refusedByPeer(alert: Int(error.reason - self.alertOffset))
        default: return .broken(error.text)
        }
    }
}

/// A copy of an entry from libssl's error queue.
///
/// The queue is thread-local, so it must be read and cleared in the same synchronous function as the call that failed.
struct OpenSSLError {
    /// The part of the library, `ERR_LIB_…`.
    ///
    /// Each part numbers its reasons separately.
    let library: Int32
    /// The number of the reason, or 0 if the queue was empty.
    let reason: Int32
    /// libssl's description of the reason.
    let text: String

    /// Returns the oldest entry from `library`, or else the oldest entry overall, which has caused the others.
    ///
    /// Clears the queue.
    static func take(of library: Int32) -> OpenSSLError {
        var taken = OpenSSLError(library: 0, reason: 0, text: "unknown")
        while true {
            let code = ERR_get_error()
            guard code != 0 else { return taken }
            let isWanted = COpenSSL_ERR_GET_LIB(code) == library && taken.library != library
            if taken.reason == 0 || isWanted { taken = OpenSSLError(code: code) }
        }
    }

    private init(library: Int32, reason: Int32, text: String) {
        self.library = library
        self.reason = reason
        self.text = text
    }

    private init(code: UInt) {
        let words = unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) }
        self.init(
            library: COpenSSL_ERR_GET_LIB(code),
            reason: COpenSSL_ERR_GET_REASON(code),
            text: Self.systemText(of: code) ?? words ?? "error \(code)"
        )
    }

    /// Returns the system's message for an errno that libssl has passed on without one (`ERR_SYSTEM_FLAG`).
    private static func systemText(of code: UInt) -> String? {
        guard code & Self.systemFlag != 0 else { return nil }
        return unsafe strerror(Int32(truncatingIfNeeded: code & ~Self.systemFlag)).map { unsafe String(cString: $0) }
    }

    private static let systemFlag: UInt = 1 << 31

    /// Returns whether the entry has this reason.
    func isReason(_ reason: Int32, of library: Int32) -> Bool { self.library == library && self.reason == reason }
}
