internal import Secrets
package import Vocabulary

extension SHA256Digest {
    /// Returns the SHA-256 digest of the bytes.
    package static func of(_ bytes: [UInt8]) -> SHA256Digest {
        guard let digest = SHA256Digest([UInt8].sha256(of: bytes)) else {
            preconditionFailure("SHA-256 has 32 bytes")
        }
        return digest
    }
}
