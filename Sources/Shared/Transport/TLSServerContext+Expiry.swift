internal import COpenSSL
internal import Glibc
internal import Synchronization
package import Vocabulary

extension TLSServerContext {
    /// The expiry time of the current certificate; nil if it cannot be read.
    package var certificateExpiry: Timestamp? {
        let context = self.current.withLock { $0 }
        return withExtendedLifetime(context) {
            guard let certificate = unsafe SSL_CTX_get0_certificate(context.pointer),
                let time = unsafe X509_get0_notAfter(certificate)
            else { return nil }
            var parts = unsafe tm()
            guard unsafe ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
            return unsafe Timestamp(milliseconds: Int64(timegm(&parts)) * 1000)
        }
    }
}
