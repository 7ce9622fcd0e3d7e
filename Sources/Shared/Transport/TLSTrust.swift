package import Vocabulary

/// A client's rule for trusting a server; the platform's root certificates are never used.
package enum TLSTrust: Hashable, Sendable {
    /// The authorities' certificates, PEM; one of them must have issued the server's, with valid
    /// name and times.
    case authority(pem: [UInt8])
    /// SHA-256 of the SubjectPublicKeyInfo of the server's certificate; its key must be one of
    /// these, with valid name and times.
    case publicKeys([SHA256Digest])
}
