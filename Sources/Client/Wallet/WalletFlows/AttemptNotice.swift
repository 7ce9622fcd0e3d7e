package import Vocabulary

/// The facts about attempts that the wallet shows after an unlock, from the server's receipts.
package struct AttemptNotice: Hashable, Sendable {
    /// Wrong PINs since the right one before this unlock, entered here or elsewhere.
    package var wrongPINs: Int
    /// The time of that right PIN; nil if the wallet has no receipt for it.
    package var since: Timestamp?
    /// The contradictions found in receipts, each listed once, in the order they were discovered.
    package var tampering: [Tampering]

    package init(wrongPINs: Int, since: Timestamp?, tampering: [Tampering]) {
        self.wrongPINs = wrongPINs
        self.since = since
        self.tampering = tampering
    }
}

/// A contradiction between the server's receipts and the wallet's own attempts (docs/protocol.md, Receipts).
public enum Tampering: String, Hashable, Sendable, CaseIterable {
    /// A receipt's path, signature or facts do not match the attempt it was sent for.
    case forgedReceipt = "forged-receipt"
    /// A verdict came without a receipt, although the server's key is pinned.
    case missingReceipt = "missing-receipt"
    /// The receipt is from an epoch before that of the last one.
    case olderEpoch = "older-epoch"
    /// The number of judged attempts did not increase, even though the epoch has not changed.
    case numberBack = "number-back"
    /// More attempts were judged than this wallet sent.
    case unexplainedAttempts = "unexplained-attempts"
    /// The server's key is not the pinned one, nor signed by it or its successors.
    case unknownKey = "unknown-key"
}
