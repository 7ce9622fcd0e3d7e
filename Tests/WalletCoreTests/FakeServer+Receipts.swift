import Statements
import Vocabulary
import Wire

/// The fake server's receipts, one for each commit.
extension FakeServer.State {
    var receiptLinks: [ReceiptKeyLink] {
        var links = self.receiptKeys.prefix(1).compactMap { ReceiptKeyLink($0.key, endorsedBy: nil) }
        links += zip(self.receiptKeys, self.receiptKeys.dropFirst()).compactMap { $0.link(to: $1.key) }
        return links
    }

    func certified(_ result: InstructResult, _ leaf: AttemptLeaf) -> CallResult {
        guard let receipt = self.receipt(leaf) else { return .instruct(result) }
        return .judged(result, receipt)
    }

    /// The receipt of a leaf that is alone in its commit.
    func receipt(_ leaf: AttemptLeaf, by key: ReceiptSigningKey? = nil) -> Receipt? {
        guard let key = key ?? self.receiptKeys.last else { return nil }
        var bytes: [UInt8] = []
        leaf.write(to: &bytes)
        let tree = MerkleTree(leaves: bytes, each: AttemptLeaf.byteCount)
        let signed = key.sign(root: tree.root, epoch: self.epoch, at: Timestamp(milliseconds: 1_700_000_000_000))
        return signed.map { Receipt(leaf: bytes[...], place: 0, leafCount: 1, signedRoot: $0.encoded(), path: []) }
    }
}

extension FakeServer.Record {
    func leaf(_ outcome: AttemptLeaf.Outcome, of attemptID: AttemptID, _ walletID: WalletID) -> AttemptLeaf {
        AttemptLeaf(
            outcome: outcome,
            wrongPINs: self.wrongAttempts,
            walletID: walletID,
            attemptID: attemptID,
            number: self.number,
            lastWrong: self.wrongAttempts > 0 ? Timestamp(milliseconds: 1_699_999_000_000) : nil
        )
    }
}
