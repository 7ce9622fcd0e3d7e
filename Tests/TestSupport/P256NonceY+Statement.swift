package import Statements
package import Vocabulary

extension P256NonceY {
    /// Recovers the y coordinate of a signature's point R; nil if the signature is not this key's over the statement.
    package init?(of signature: P256Signature, by key: P256PublicKey, for statement: Statement) {
        self.init(of: signature, by: key, for: statement.digest)
    }
}
