/// A certificate, a key or a trust rule cannot be used.
///
/// Correct the file and retry.
package enum TLSContextError: Error, Hashable, Sendable {
    /// The file cannot be read or does not contain a certificate chain.
    case certificate(path: String, reason: String)
    /// The file cannot be read, is encrypted, or does not contain a key.
    case key(path: String, reason: String)
    /// The key does not belong to the certificate.
    case keyOfAnotherCertificate(path: String)
    /// The file contains certificates that wallets would reject.
    case faults(path: String, [CertificateFault])
    /// The trusted certificates are missing or unreadable.
    case trust
    /// The text is neither a DNS name nor an IP address.
    case serverName(String)
}
