internal import COpenSSL
internal import Glibc
internal import Synchronization
package import Vocabulary

extension TLSServerContext {
    /// The expiry time of the current certificate, or nil if it cannot be read.
    package var certificateExpiry: Timestamp? {
        let context = self.current.withLock { $0 }
        return withExtendedLifetime(context) {
            unsafe SSL_CTX_get0_certificate(context.pointer).flatMap {
                unsafe Timestamp(certificateTime: X509_get0_notAfter($0))
            }
        }
    }

    /// Returns the faults in the current certificates at the given time.
    package func faults(at now: Timestamp) -> [CertificateFault] {
        self.current.withLock { $0 }.certificateFaults(at: now)
    }
}

/// A problem with a server's certificates that libssl does not report.
package enum CertificateFault: Hashable, Sendable {
    /// The certificate at this position in the file, counting from 1, has expired.
    case expired(place: Int, since: Timestamp)
    /// The certificate expires within ``CertificateFault/shortTime``.
    case expiresSoon(place: Int, at: Timestamp)
    case notYetValid(place: Int, until: Timestamp)
    /// The next certificate in the file is not the issuer of this one.
    case otherIssuer(place: Int)
    /// The server's certificate has no subject alternative name, so no wallet will accept it (RFC 9525 §6.3).
    case noNames

    /// The remaining validity below which a certificate is considered to expire soon.
    package static let shortTime: Duration = .seconds(14 * 86_400)

    /// Whether wallets would reject the certificates right now.
    package var isFatal: Bool {
        if case .expiresSoon = self { false } else { true }
    }
}

extension SSLContext {
    /// Returns the faults in the context's own certificates at the given time.
    func certificateFaults(at now: Timestamp) -> [CertificateFault] {
        guard var certificate = unsafe SSL_CTX_get0_certificate(self.pointer) else { return [] }
        var faults: [CertificateFault] = []
        if unsafe X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1) < 0 { faults.append(.noNames) }
        var place = 1
        while true {
            if let start = unsafe Timestamp(certificateTime: X509_get0_notBefore(certificate)), now < start {
                faults.append(.notYetValid(place: place, until: start))
            }
            if let end = unsafe Timestamp(certificateTime: X509_get0_notAfter(certificate)) {
                if end <= now {
                    faults.append(.expired(place: place, since: end))
                } else if end < now + CertificateFault.shortTime {
                    faults.append(.expiresSoon(place: place, at: end))
                }
            }
            let next = unsafe COpenSSL_SSL_CTX_get0_chain_cert(self.pointer, Int32(place - 1))
            guard let issuer = unsafe next else { return faults }
            // Just comparing the names would also accept a different authority with the same name.
            let isIssuer =
                unsafe X509_check_issued(issuer, certificate) == X509_V_OK
                && X509_verify(certificate, X509_get0_pubkey(issuer)) == 1
            ERR_clear_error()
            if !isIssuer { faults.append(.otherIssuer(place: place)) }
            unsafe certificate = issuer
            place += 1
        }
    }
}

extension Timestamp {
    /// Reads a time from a certificate.
    ///
    /// Returns nil if it cannot be read.
    fileprivate init?(certificateTime time: UnsafePointer<ASN1_TIME>?) {
        var parts = unsafe tm()
        guard let time = unsafe time, unsafe ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
        self.init(milliseconds: unsafe Int64(timegm(&parts)) * 1000)
    }
}
