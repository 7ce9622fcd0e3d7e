package import Statements
package import Vocabulary

/// Signs receipts with the active version's receipt key.
///
/// The receipt key of each version is derived from its root when the file is read. Rotating the vault's keys therefore
/// also rotates the receipt key, and a restored store keeps the same receipt keys.
extension KeyFileVault: ReceiptSigner {
    package func sign(root: SHA256Digest, epoch: UInt64, at time: Timestamp) -> SignedRoot? {
        self.keys.active.receipts.sign(root: root, epoch: epoch, at: time)
    }

    /// The signer of receipts, which switches to the new key after each rotation.
    package var receiptSigner: any ReceiptSigner { self }

    /// The keys that wallets may have pinned, in ascending order, each signed by its predecessor.
    ///
    /// Contains at most ``ReceiptKeyLink/mostLinks``.
    package var receiptKeys: [ReceiptKeyLink] { Array(self.keys.receiptKeys.suffix(ReceiptKeyLink.mostLinks)) }
}
