package import Statements
package import Vocabulary

/// The receipt key of each version is derived from its root when the file is read; the active one signs.
///
/// So a rotation of the vault's keys rotates the receipt key, too, and a restored store finds the same keys again.
extension KeyFileVault: ReceiptSigner {
    package func sign(root: SHA256Digest, epoch: UInt64, at time: Timestamp) -> SignedRoot? {
        self.keys.active.receipts.sign(root: root, epoch: epoch, at: time)
    }

    /// The signer of receipts, which follows each rotation.
    package var receiptSigner: any ReceiptSigner { self }

    /// The keys that wallets may have pinned, each with its predecessor's signature, in ascending order; at most
    /// ``ReceiptKeyLink/mostLinks``.
    package var receiptKeys: [ReceiptKeyLink] { Array(self.keys.receiptKeys.suffix(ReceiptKeyLink.mostLinks)) }
}
