internal import Vocabulary
internal import WalletFlows
internal import Wire

/// Checks the receipts that come with verdicts, and the counts that come with sessions, which reveal attempts that this
/// wallet did not make.
///
/// A finding or a hint has no other effect. In particular, it does not influence whether we believe the verdict.
extension WalletEngine {
    /// Counts an instruction before it is sent, so that we can explain a gap even after a crash.
    ///
    /// If this throws, the instruction must not be sent. After the next launch, the wallet would not know of it, and
    /// would take its number for an attacker's attempt.
    func noteSend() throws { try self.store.changeReceiptsDurably { $0.noteSend() } }

    /// Verifies and keeps the receipt for an answer.
    func take(_ receipt: Receipt?, of result: InstructResult, to entry: PINEntry, walletID: WalletID) {
        let answered = ReceiptRecord.Answered(
            walletID: walletID,
            attemptID: entry.attemptID,
            outcomes: result.receiptOutcomes
        )
        self.pinState = result.pinState
        // The receipt decides what the counts of the session only suggested.
        self.attemptHint = nil
        let now = self.clock.now()
        self.store.changeReceipts { record in
            if let finding = record.take(receipt, of: answered, at: now) { self.findings.append(finding) }
        }
    }

    /// Pins the key sent with a session, or follows its rotation, and compares the session's counts.
    func adopt(_ wallet: ActiveWallet) {
        let now = self.clock.now()
        self.store.changeReceipts { record in
            if let finding = record.adopt(wallet.receiptKeys, at: now) { self.findings.append(finding) }
        }
        self.attemptHint = self.store.receipts.hint(of: wallet.attempts, at: now)
        self.pinState = wallet.pinState
    }

    /// The notice to show at the next unlock, or nil if there is nothing to report.
    var attemptNotice: AttemptNotice? {
        guard let hint = self.attemptHint else { return self.store.receipts.notice }
        var notice = self.store.receipts.notice ?? AttemptNotice(wrongPINs: 0, since: nil, tampering: [])
        notice.hint = hint
        return notice
    }

    /// Clears the notice once it has been shown.
    ///
    /// The next session brings a hint again, until a receipt confirms or refutes it.
    func noticeShown() {
        self.attemptHint = nil
        self.store.changeReceipts { $0.noteShown() }
    }

    /// Returns the findings since the last call.
    func takeFindings() -> [Tampering] {
        defer { self.findings = [] }
        return self.findings
    }
}

extension InstructResult {
    /// The state that the answer states, or nil for a right PIN.
    fileprivate var pinState: PINState? {
        switch self {
        case .pinValid, .pinChanged, .recoveryCodeLinked, .deletionCode: nil
        case .wrong(let state): state
        case .blocked(let remaining): .blocked(remaining: remaining)
        case .blockedPermanently: .blockedPermanently
        }
    }

    /// The outcomes that a receipt for this answer may contain.
    ///
    /// A repeated wrong attempt is not judged again.
    fileprivate var receiptOutcomes: Set<AttemptLeaf.Outcome> {
        switch self {
        case .pinValid, .pinChanged, .recoveryCodeLinked, .deletionCode: [.right]
        case .wrong: [.wrong, .notJudged]
        case .blocked, .blockedPermanently: [.notJudged]
        }
    }
}
