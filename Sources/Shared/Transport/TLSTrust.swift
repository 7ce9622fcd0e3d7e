package import Vocabulary

/// Whom a client takes for its server; the platform's roots never count.
package enum TLSTrust: Hashable, Sendable {
    /// Certificates of authorities, PEM; one of them has signed the server's, and the name and times are right.
    case authority(pem: [UInt8])
    /// SHA-256 of the SubjectPublicKeyInfo of the server's own certificate; one of them is its key, and the name and
    /// times are right.
    case publicKeys([SHA256Digest])
}
