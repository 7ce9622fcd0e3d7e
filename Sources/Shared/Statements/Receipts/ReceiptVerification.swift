package import Vocabulary

extension SignedRoot {
    /// Returns whether this root is signed by the key.
    package func isSigned(by key: ReceiptKey) -> Bool {
        guard self.keyID == key.id, let verifyingKey = VerifyingKey(key.publicKey) else { return false }
        let statement = ReceiptStatement.root(self.root, epoch: self.epoch, time: self.time, keyID: self.keyID)
        return verifyingKey.isValid(self.signature, forBytes: statement)
    }
}

extension Receipt {
    /// Returns whether the path leads from the leaf to the root and the root is signed by the key.
    package func isGenuine(by key: ReceiptKey) -> Bool {
        let signed = self.signed
        let root = MerkleTree.root(
            from: self.leafBytes,
            place: self.place,
            leafCount: self.leafCount,
            path: self.path
        )
        return root == signed.root.bytes && signed.isSigned(by: key)
    }
}

extension ReceiptKey {
    /// Follows signed links from this key and returns it with its successors, or nil if a link is missing or not
    /// signed.
    ///
    /// - Parameter links: The server's keys in ascending order, each signed by its predecessor.
    package func successors(following links: [ReceiptKeyLink]) -> [ReceiptKey]? {
        guard let last = links.last, last.key.id >= self.id else { return nil }
        var key = self
        var keys = [self]
        for link in links where link.key.id >= self.id {
            if link.key.id == self.id {
                guard link.key == self else { return nil }
                continue
            }
            guard key.id < .max, link.key.id == key.id + 1, let verifyingKey = VerifyingKey(key.publicKey),
                verifyingKey.isValid(link.endorsement, forBytes: ReceiptStatement.successor(link.key, of: key.id))
            else { return nil }
            key = link.key
            keys.append(key)
        }
        return keys
    }
}
