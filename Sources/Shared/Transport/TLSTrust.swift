package import Vocabulary

/// A client's rule for trusting a server.
///
/// The platform's root certificates are never used.
package enum TLSTrust: Hashable, Sendable {
    /// The PEM certificates of the trusted authorities.
    ///
    /// The server's certificate must have been issued by one of them, and its name and validity period must be right.
    case authority(pem: [UInt8])
    /// The SHA-256 hashes of the trusted keys' SubjectPublicKeyInfo.
    ///
    /// The key in the server's certificate must be one of them, and the certificate's name and validity period must be
    /// right.
    case publicKeys([SHA256Digest])
}
