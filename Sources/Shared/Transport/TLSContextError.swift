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
