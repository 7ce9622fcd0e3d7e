package import Statements
package import Vocabulary

/// The receipt key of each version is derived from the version's root when the file is read, and the active one signs.
///
/// Rotating the vault's keys therefore rotates the receipt key as well, and a restored store gets the same receipt keys
/// as before.
extension KeyFileVault: ReceiptSigner {
    package func sign(root: SHA256Digest, epoch: UInt64, at time: Timestamp) -> SignedRoot? {
        self.keys.active.receipts.sign(root: root, epoch: epoch, at: time)
    }

    /// The signer of receipts, which switches to the new key after each rotation.
    package var receiptSigner: any ReceiptSigner { self }

    /// The keys that wallets may have pinned, in ascending order, each signed by its predecessor.
    ///
    /// There are at most ``ReceiptKeyLink/mostLinks``.
    package var receiptKeys: [ReceiptKeyLink] { Array(self.keys.receiptKeys.suffix(ReceiptKeyLink.mostLinks)) }
}
