internal import Statements
internal import Vocabulary
internal import WalletFlows
internal import Wire

/// The pinned receipt key, the last receipt, and the attempts sent by this wallet since then (docs/protocol.md,
/// Receipts).
///
///     noteSend, durably ─▶ the message ─▶ take its receipt: verify, compare its number, keep it
///
/// A receipt accounts for all attempts up to its own. Its number may exceed the last one by the number of unanswered
/// attempts. Any further attempts were made elsewhere.
struct ReceiptRecord: Codable, Hashable, Sendable {
    /// The pinned key, or nil if no server has sent one yet.
    private var key: ReceiptKey?
    /// The last receipt, as received.
    private var last: StoredBytes?
    /// The highest number in any receipt.
    ///
    /// A receipt from a new epoch is compared with this number, because the restored store may be a copy from before or
    /// after the last receipt.
    private var highest: UInt64 = 0
    /// Whether the key was pinned at registration, which means that the first number is known.
    private var countsFromZero = false
    /// The number of messages sent since the last receipt, including the current one.
    private var unanswered: UInt64 = 0
    /// The messages sent before the last receipt that it does not count and that may still reach the server, the
    /// oldest first.
    private var late: [Late] = []
    /// A receipt signed with a key that only the next session will introduce, and the number of messages it answers.
    private var waiting: Waiting?
    private var lastRightMs: Int64?
    /// The number of wrong PINs to report at the next unlock.
    private var wrongPINs = 0
    private var wrongSinceMs: Int64?
    private var tampering: [String] = []

    private struct Waiting: Codable, Hashable, Sendable {
        var receipt: StoredBytes
        var unanswered: UInt64
    }

    /// Messages that may still reach the server until the same time.
    private struct Late: Codable, Hashable, Sendable {
        var count: UInt64
        var untilMs: Int64
    }

    /// The time for which a message on a lost connection may still arrive.
    ///
    /// This is longer than any session by default.
    static let lateFor: Duration = .seconds(3600)

    /// The step to which the ends of these times are rounded up, so that there are at most 13 of them.
    static let lateStep: Duration = .seconds(300)

    init() {}

    /// Creates the record for a new registration, pinning the server's key if the server issues receipts.
    init(registeredWith links: [ReceiptKeyLink], at now: Timestamp) {
        self.key = links.last?.key
        self.countsFromZero = self.key != nil
        self.lastRightMs = now.milliseconds
    }

    /// The notice to show at the next unlock, or nil if there is nothing to report.
    var notice: AttemptNotice? {
        guard self.wrongPINs > 0 || !self.tampering.isEmpty else { return nil }
        return AttemptNotice(
            wrongPINs: self.wrongPINs,
            since: self.wrongSinceMs.map { Timestamp(milliseconds: $0) },
            tampering: self.tampering.compactMap { Tampering(rawValue: $0) }
        )
    }

    mutating func noteShown() {
        self.wrongPINs = 0
        self.tampering = []
    }

    /// Counts a message before it is sent.
    mutating func noteSend() { self.unanswered = self.unanswered.plus(1) }
}

// MARK: - Keys

extension ReceiptRecord {
    /// Pins the server's key or follows its rotations from the pinned one, then checks a receipt that was waiting for
    /// it.
    mutating func adopt(_ links: [ReceiptKeyLink], at now: Timestamp) -> Tampering? {
        guard let newest = links.last?.key else { return self.key == nil ? nil : self.note(.unknownKey) }
        guard let pinned = self.key else {
            // The file of receipts was lost or the server has introduced receipts since, so the previous numbers are
            // unknown.
            self.key = newest
            self.unanswered = 0
            return nil
        }
        guard let keys = pinned.successors(following: links), let current = keys.last else {
            return self.note(.unknownKey)
        }
        self.key = current
        guard let waiting = self.waiting, let receipt = Receipt(waiting.receipt.bytes) else { return nil }
        self.waiting = nil
        // The keys may have been rotated again since that receipt.
        let signer = keys.first { $0.id == receipt.signed.keyID }
        return self.accept(receipt, by: signer, answering: waiting.unanswered, at: now)
    }
}

// MARK: - Receipts

extension ReceiptRecord {
    struct Answered {
        var walletID: WalletID
        var attemptID: AttemptID
        /// The outcomes that are consistent with the answer's verdict.
        var outcomes: Set<AttemptLeaf.Outcome>
    }

    /// Verifies and keeps the receipt for an answer.
    mutating func take(_ receipt: Receipt?, of answered: Answered, at now: Timestamp) -> Tampering? {
        guard let key = self.key else { return nil }
        guard let receipt else { return self.note(.missingReceipt) }
        let leaf = receipt.leaf
        guard leaf.walletID == answered.walletID, leaf.attemptID == answered.attemptID,
            answered.outcomes.contains(leaf.outcome)
        else { return self.note(.forgedReceipt) }
        if receipt.signed.keyID > key.id {
            let before = self.waiting?.unanswered ?? 0
            self.waiting = Waiting(receipt: StoredBytes(receipt.bytes), unanswered: before.plus(self.unanswered))
            self.unanswered = 0
            return nil
        }
        let unanswered = self.unanswered
        self.unanswered = 0
        return self.accept(receipt, by: key, answering: unanswered, at: now)
    }

    /// Verifies a receipt, compares its number with the last one, and keeps it.
    private mutating func accept(
        _ receipt: Receipt,
        by key: ReceiptKey?,
        answering sent: UInt64,
        at now: Timestamp
    ) -> Tampering? {
        guard let key, receipt.isGenuine(by: key) else {
            // The attempt may have been judged anyway.
            self.unanswered = self.unanswered.plus(sent)
            return self.note(.forgedReceipt)
        }
        let leaf = receipt.leaf
        self.dropExpiredLate(at: now)
        let finding = self.finding(
            leaf.number,
            of: receipt.signed.epoch,
            isJudged: leaf.isJudged,
            explained: sent.plus(self.lateCount)
        )
        // The answered message itself cannot arrive again.
        let growth = self.growth(to: leaf.number)
        let others = leaf.isJudged ? growth - min(1, growth) : growth
        self.addLate(sent - min(1, sent), at: now)  // rule: receipt-late-message-forgotten
        self.removeLate(others)
        self.noteFacts(of: leaf, at: receipt.signed.time)
        self.last = StoredBytes(receipt.bytes)
        self.highest = max(self.highest, leaf.number)
        self.countsFromZero = false
        guard let finding else { return nil }
        return self.note(finding)
    }

    /// Returns the end of the time in which a message that is missing from a receipt of `now` may arrive.
    private static func lateEnd(_ now: Timestamp) -> Int64 {
        let step = Self.lateStep.milliseconds
        return (now + Self.lateFor).adding(milliseconds: step - 1).milliseconds / step * step
    }

    /// Removes the messages that can no longer arrive.
    ///
    /// If the clock was set back, the remaining times end as if the messages had been missing since now.
    private mutating func dropExpiredLate(at now: Timestamp) {
        let latest = Self.lateEnd(now)
        self.late.removeAll { $0.untilMs <= now.milliseconds }
        for index in self.late.indices { self.late[index].untilMs = min(self.late[index].untilMs, latest) }
    }

    /// Adds messages that the present receipt does not count.
    ///
    /// Threat: an attacker suppresses messages of this wallet and makes that many attempts of its own. Each message has
    /// a separate hour, which no later receipt extends, so old suppressions do not add up.
    private mutating func addLate(_ count: UInt64, at now: Timestamp) {
        guard count > 0 else { return }
        let end = Self.lateEnd(now)
        if let last = self.late.indices.last, self.late[last].untilMs == end {
            self.late[last].count = self.late[last].count.plus(count)
        } else {
            self.late.append(Late(count: count, untilMs: end))
        }
    }

    /// Removes messages that have arrived.
    ///
    /// The receipt does not tell which ones. Removing the oldest ones never shows a genuine late message as tampering.
    private mutating func removeLate(_ count: UInt64) {
        var rest = count
        while rest > 0, let first = self.late.first {
            let taken = min(rest, first.count)
            rest -= taken
            self.late[0].count -= taken
            if self.late[0].count == 0 { self.late.removeFirst() }
        }
    }

    /// Returns how a number of judged attempts contradicts the last receipt, or nil if it does not.
    ///
    /// - Parameters:
    ///   - isJudged: Whether one of these attempts has just been judged.
    ///   - explained: The number of this wallet's messages that the last receipt does not count.
    private func finding(_ number: UInt64, of epoch: UInt64, isJudged: Bool, explained: UInt64) -> Tampering? {
        // This subtracts instead of adding, because an impostor could send a number that makes the sum overflow.
        func exceeds(_ known: UInt64) -> Bool { number > known && number - known > explained }
        guard let last = self.last.flatMap({ Receipt($0.bytes) }) else {
            return self.countsFromZero && exceeds(0) ? .unexplainedAttempts : nil
        }
        guard epoch >= last.signed.epoch else { return .olderEpoch }
        // A restore may lower the number and another restore may raise it again, so compare with the highest one.
        guard epoch == last.signed.epoch else { return exceeds(self.highest) ? .unexplainedAttempts : nil }
        let before = last.leaf.number
        // rule: receipt-number-back-ignored
        guard number > before || (number == before && !isJudged) else { return .numberBack }
        return exceeds(before) ? .unexplainedAttempts : nil
    }

    /// The number of messages that may still arrive although a receipt of a later one is known.
    private var lateCount: UInt64 { self.late.reduce(0) { $0.plus($1.count) } }

    /// Returns the number of attempts judged since the last receipt.
    private func growth(to number: UInt64) -> UInt64 {
        let before = self.last.flatMap { Receipt($0.bytes) }?.leaf.number ?? (self.countsFromZero ? 0 : number)
        return number - min(number, before)
    }

    private mutating func noteFacts(of leaf: AttemptLeaf, at time: Timestamp) {
        // If a right PIN is judged twice, no wrong ones precede it the second time.
        if leaf.wrongPINs > 0 {
            self.wrongPINs = max(self.wrongPINs, leaf.wrongPINs)
            self.wrongSinceMs = self.lastRightMs
        }
        if leaf.outcome == .right { self.lastRightMs = time.milliseconds }
    }

    /// Adds a finding to the notice for the next unlock.
    private mutating func note(_ finding: Tampering) -> Tampering {
        if !self.tampering.contains(finding.rawValue) { self.tampering.append(finding.rawValue) }
        return finding
    }
}

// MARK: - Sessions

extension ReceiptRecord {
    /// Returns how the counts of a session contradict the last receipt, or nil if they do not.
    ///
    /// The rules are those for receipts. Nothing is kept, because nothing signs the counts: the receipt of the next PIN
    /// decides. A message without an answer, sent by this wallet, explains one attempt.
    func hint(of counts: AttemptCounts, at now: Timestamp) -> AttemptHint? {
        guard self.key != nil else { return nil }
        var record = self
        record.dropExpiredLate(at: now)
        let finding = record.finding(
            counts.number,
            of: counts.epoch,
            isJudged: false,
            explained: record.unanswered.plus(record.waiting?.unanswered ?? 0).plus(record.lateCount)
        )
        return finding.map { AttemptHint(finding: $0, wrongPINs: counts.wrongPINs, lastWrong: counts.lastWrong) }
    }
}

extension AttemptLeaf {
    fileprivate var isJudged: Bool { self.outcome != .notJudged }
}

extension UInt64 {
    /// Returns the sum, or the largest number if the sum is larger: a file that was edited may hold any count.
    fileprivate func plus(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = self.addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}

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
