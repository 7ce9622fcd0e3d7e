package import Vocabulary

/// The facts about attempts that the wallet shows after an unlock, from the server's receipts.
package struct AttemptNotice: Hashable, Sendable {
    /// Wrong PINs since the right one before this unlock, entered here or elsewhere.
    package var wrongPINs: Int
    /// The time of that right PIN; nil if the wallet has no receipt of it.
    package var since: Timestamp?
    /// The receipts' contradictions, each once, in the order of their discovery.
    package var tampering: [Tampering]

    package init(wrongPINs: Int, since: Timestamp?, tampering: [Tampering]) {
        self.wrongPINs = wrongPINs
        self.since = since
        self.tampering = tampering
    }
}

/// A contradiction between the server's receipts and the wallet's own attempts (docs/protocol.md, Receipts).
public enum Tampering: String, Hashable, Sendable, CaseIterable {
    /// A receipt's path, signature or facts are not those of the attempt that it answers.
    case forgedReceipt = "forged-receipt"
    /// A verdict came without a receipt, although the server's key is pinned.
    case missingReceipt = "missing-receipt"
    /// The receipt is from an epoch before that of the last one.
    case olderEpoch = "older-epoch"
    /// The number of judged attempts did not grow, and no change of epoch explains it.
    case numberBack = "number-back"
    /// More attempts were judged than this wallet sent.
    case unexplainedAttempts = "unexplained-attempts"
    /// The server's key is not the pinned one, nor signed by it or its successors.
    case unknownKey = "unknown-key"
}
