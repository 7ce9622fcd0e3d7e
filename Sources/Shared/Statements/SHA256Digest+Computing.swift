internal import Crypto
package import Vocabulary

extension Vocabulary.SHA256Digest {
    /// Returns the SHA-256 digest of the bytes.
    package static func of(_ bytes: [UInt8]) -> Vocabulary.SHA256Digest {
        guard let digest = Vocabulary.SHA256Digest(SHA256.hash(data: bytes)) else {
            preconditionFailure("SHA-256 has 32 bytes")
        }
        return digest
    }
}
