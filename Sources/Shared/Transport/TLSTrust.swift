package import Vocabulary

/// A client's rule for trusting a server; the platform's root certificates are never used.
package enum TLSTrust: Hashable, Sendable {
    /// PEM certificates of the trusted authorities. The server's certificate must be issued by one of them, and its
    /// name and validity period must be right.
    case authority(pem: [UInt8])
    /// SHA-256 hashes of the trusted keys, each over a SubjectPublicKeyInfo. The key of the server's certificate must
    /// be one of them, and its name and validity period must be right.
    case publicKeys([SHA256Digest])
}
