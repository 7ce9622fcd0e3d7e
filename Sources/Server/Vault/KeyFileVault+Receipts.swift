package import Statements
package import Vocabulary

/// Signs receipts with the receipt key of the version that the store names.
///
/// The receipt key of each version is derived from its root when the file is read. Rotating the vault's keys therefore
/// also rotates the receipt key, and a restored store keeps the same receipt keys.
extension KeyFileVault: ReceiptSigner {
    package func sign(
        root: SHA256Digest,
        epoch: UInt64,
        at time: Timestamp,
        by version: UInt32?
    ) -> SignedRoot? {
        let keys = self.keys
        return keys.version(version ?? keys.active.number)?.receipts.sign(root: root, epoch: epoch, at: time)
    }

    /// The signer of receipts.
    package var receiptSigner: any ReceiptSigner { self }

    /// The keys that wallets may have pinned, in ascending order, each signed by its predecessor, up to that of a
    /// version.
    ///
    /// Contains at most ``ReceiptKeyLink/mostLinks``; nil without that version.
    ///
    /// - Parameter version: The version that the store names; nil if it names none, which means the active one.
    package func receiptKeys(upTo version: UInt32?) -> [ReceiptKeyLink]? {
        let keys = self.keys
        guard let last = keys.version(version ?? keys.active.number)?.number else { return nil }
        return Array(keys.receiptKeys.prefix { $0.key.id <= last }.suffix(ReceiptKeyLink.mostLinks))
    }
}
