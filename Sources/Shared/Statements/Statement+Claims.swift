package import BatchVerification
package import Vocabulary

extension SignatureClaim {
    /// The claim that the signature is this key's over the statement's bytes, hashed once with SHA-256, and that R has
    /// this y coordinate.
    package init(_ signature: P256Signature, nonceY: P256NonceY, by key: P256PublicKey, for statement: Statement) {
        self.init(signature, nonceY: nonceY, by: key, for: statement.digest)
    }
}

extension P256NonceY {
    /// The y coordinate that goes with a signature; nil where that is not this key's over the statement.
    package init?(of signature: P256Signature, by key: P256PublicKey, for statement: Statement) {
        self.init(of: signature, by: key, for: statement.digest)
    }
}
