package import Vocabulary

/// The information about attempts that the wallet shows after an unlock, based on the server's receipts and on the
/// counts that a session states.
package struct AttemptNotice: Hashable, Sendable {
    /// The number of wrong PINs since the last right one, entered here or elsewhere.
    package var wrongPINs: Int
    /// The time of the last right PIN, or nil if the wallet has no receipt for it.
    package var since: Timestamp?
    /// The contradictions found in receipts, without duplicates, in the order they were found.
    package var tampering: [Tampering]
    /// The contradiction between the session's counts and the last receipt, or nil if there is none.
    package var hint: AttemptHint?

    package init(wrongPINs: Int, since: Timestamp?, tampering: [Tampering], hint: AttemptHint? = nil) {
        self.wrongPINs = wrongPINs
        self.since = since
        self.tampering = tampering
        self.hint = hint
    }
}

/// A contradiction between the counts that a session states and the wallet's last receipt.
///
/// Nothing signs the counts, so this is a hint: it is shown, and the receipt of the next PIN decides.
package struct AttemptHint: Hashable, Sendable {
    /// The rule for receipts that the counts violate.
    package var finding: Tampering
    /// The number of wrong PINs since the last right one, entered here or elsewhere.
    package var wrongPINs: Int
    /// The time of the last of them, or nil if there are none.
    package var lastWrong: Timestamp?

    package init(finding: Tampering, wrongPINs: Int, lastWrong: Timestamp?) {
        self.finding = finding
        self.wrongPINs = wrongPINs
        self.lastWrong = lastWrong
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
