package import Vocabulary

/// The information about attempts that the wallet shows after an unlock, based on the server's receipts.
package struct AttemptNotice: Hashable, Sendable {
    /// The number of wrong PINs since the last right one, entered here or elsewhere.
    package var wrongPINs: Int
    /// The time of the last right PIN, or nil if the wallet has no receipt for it.
    package var since: Timestamp?
    /// The contradictions found in receipts, without duplicates, in the order they were found.
    package var tampering: [Tampering]

    package init(wrongPINs: Int, since: Timestamp?, tampering: [Tampering]) {
        self.wrongPINs = wrongPINs
        self.since = since
        self.tampering = tampering
    }
}

/// A contradiction between the server's receipts and the wallet's own attempts (docs/protocol.md, Receipts).
public enum Tampering: String, Hashable, Sendable, CaseIterable {
    /// A receipt's path, signature or facts do not match the attempt it is for.
    case forgedReceipt = "forged-receipt"
    /// A verdict came without a receipt, even though the server's key is pinned.
    case missingReceipt = "missing-receipt"
    /// The receipt is from an earlier epoch than the last one.
    case olderEpoch = "older-epoch"
    /// The number of judged attempts did not increase within the same epoch.
    case numberBack = "number-back"
    /// More attempts were judged than this wallet has sent.
    case unexplainedAttempts = "unexplained-attempts"
    /// The server's key is neither the pinned one nor signed by it or its successors.
    case unknownKey = "unknown-key"
}
