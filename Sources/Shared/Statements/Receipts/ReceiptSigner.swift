internal import Crypto
internal import FoundationEssentials
package import Secrets
package import Vocabulary

/// Signs the roots of commits.
package protocol ReceiptSigner: Sendable {
    /// Signs the root of a commit.
    ///
    /// Returns nil if the key cannot be used, in which case no verdict in the commit may be sent.
    ///
    /// Called on the store's thread for every commit that contains a verdict.
    ///
    /// - Parameter version: The version of the vault's keys that the store names in the step; nil if it names none, and
    ///   the signer chooses.
    func sign(root: Vocabulary.SHA256Digest, epoch: UInt64, at time: Timestamp, by version: UInt32?) -> SignedRoot?
}

/// A private key that signs receipts, derived from a vault key version.
package struct ReceiptSigningKey: Sendable {
    package let key: ReceiptKey
    private let privateKey: P256.Signing.PrivateKey

    /// The number of derived bytes that the key is made from.
    package static let seedByteCount = 48

    /// - Precondition: The seed has 48 bytes.
    package init(id: UInt32, seed: borrowing SecretBytes) {
        precondition(seed.count == Self.seedByteCount, "a receipt key is derived from 48 bytes")
        self.privateKey = seed.p256SigningKey()
        guard let publicKey = P256PublicKey(self.privateKey.publicKey.x963Representation) else {
            preconditionFailure("a public key in this form has 65 bytes")
        }
        self.key = ReceiptKey(id: id, publicKey: publicKey)
    }

    /// Signs the root of a commit.
    package func sign(root: Vocabulary.SHA256Digest, epoch: UInt64, at time: Timestamp) -> SignedRoot? {
        let statement = ReceiptStatement.root(root, epoch: epoch, time: time, keyID: self.key.id)
        return self.signature(of: statement).map {
            SignedRoot(epoch: epoch, time: time, keyID: self.key.id, root: root, signature: $0)
        }
    }

    /// Returns the link from this key to its successor.
    package func link(to successor: ReceiptKey) -> ReceiptKeyLink? {
        self.signature(of: ReceiptStatement.successor(successor, of: self.key.id))
            .flatMap { ReceiptKeyLink(successor, endorsedBy: $0) }
    }

    private func signature(of statement: [UInt8]) -> P256Signature? {
        (try? self.privateKey.signature(for: statement)).flatMap { P256Signature($0.rawRepresentation) }
    }
}

/// The bytes signed by receipt keys: purpose ‖ 0x00 ‖ parts of fixed lengths.
enum ReceiptStatement {
    private static let rootPurpose = Array("remote-pin/1 receipt root".utf8)
    private static let keyPurpose = Array("remote-pin/1 receipt key".utf8)

    /// Returns the statement that contains the epoch, the root, the time of the commit, and the key id.
    static func root(_ root: Vocabulary.SHA256Digest, epoch: UInt64, time: Timestamp, keyID: UInt32) -> [UInt8] {
        var bytes = Self.rootPurpose
        bytes.reserveCapacity(bytes.count + 53)
        bytes.append(0)
        bytes.append(bigEndian: epoch, byteCount: 8)
        bytes.append(contentsOf: root.bytes)
        bytes.append(bigEndian: UInt64(clamping: time.milliseconds), byteCount: 8)
        bytes.append(bigEndian: UInt64(keyID), byteCount: 4)
        return bytes
    }

    /// Returns the statement that contains the ids of the old and the new key, and the public half of the new key.
    static func successor(_ key: ReceiptKey, of old: UInt32) -> [UInt8] {
        var bytes = Self.keyPurpose
        bytes.append(0)
        bytes.append(bigEndian: UInt64(old), byteCount: 4)
        bytes.append(bigEndian: UInt64(key.id), byteCount: 4)
        return bytes + key.publicKey.bytes
    }
}
