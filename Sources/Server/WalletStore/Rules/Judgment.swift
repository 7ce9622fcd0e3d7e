package import PINPolicy
package import Secrets
package import Vocabulary

/// The judgment of an attempt.
///
/// Its record must be stored before the verdict is disclosed.
package struct Judgment: Sendable {
    package let verdict: PINVerdict
    /// Whether the PINs were compared.
    ///
    /// If not, the verdict follows from the record alone.
    package let isJudged: Bool
    /// Whether the attempts have changed, so that they must be stored.
    package let isChange: Bool
    /// Whether charges of a restore were applied, so that the row must name the store's epoch once the attempts are
    /// stored.
    package let entersEpoch: Bool
    /// The record before the attempt.
    let before: AttemptRecord

    /// Returns the contents of a receipt.
    ///
    /// For a right PIN, they describe the record before the PIN reset it.
    package func leaf(of attempt: Attempt, after: KeptAttempts) -> AttemptLeaf {
        let outcome: AttemptLeaf.Outcome = !self.isJudged ? .notJudged : self.verdict == .valid ? .right : .wrong
        let record = outcome == .right ? self.before : after.record
        return AttemptLeaf(
            outcome: outcome,
            wrongPINs: record.wrongPINs,
            walletID: attempt.walletID,
            attemptID: attempt.attemptID,
            number: after.number,
            lastWrong: record.lastWrong
        )
    }
}

/// The effects of an attempt by its verdict.
extension Judgment {
    /// Returns the outcome of an instruction that releases the unlock share.
    ///
    /// - Parameter next: The next share, which a store reads for every verdict. Otherwise, with a damaged row, a wrong
    ///   PIN would be counted but a right one would not.
    package func release(_ share: Sealed, next: Sealed?) -> AttemptOutcome {
        // rule: store-share-for-wrong-pin
        guard self.verdict == .valid else {
            return .notValid(self.verdict, hasNextShare: self.isJudged && next != nil)
        }
        return .valid(.unlockShare(share, next: next))
    }

    /// Returns the outcome of an instruction that reads the deletion code, which is empty if the wallet has none.
    package func release(deletionCode: Sealed) -> AttemptOutcome {
        guard self.verdict == .valid else { return .notValid(self.verdict) }
        return .valid(.deletionCode(deletionCode.isEmpty ? nil : deletionCode))
    }

    /// Applies the effect of a right PIN to the row, which a store writes for every verdict.
    ///
    /// - Parameter isDenied: Looks up the MAC of a recovery code on the deny list, in the same step as the link.
    package func apply(
        _ effect: Attempt.Effect,
        to row: inout WalletRow,
        isDenied: (_ mac: [UInt8]) throws -> Bool
    ) rethrows -> AttemptOutcome {
        // rule: store-effect-of-wrong-pin
        guard self.verdict == .valid else { return .notValid(self.verdict) }
        return try row.apply(effect, isDenied: isDenied)
    }
}

/// The rules for judging an attempt.
///
/// They apply to all stores and do not depend on storage.
extension Attempt {
    package enum Decision: Sendable {
        /// The attempt is neither counted nor judged.
        case rejected(AttemptOutcome)
        case judged(Judgment)
    }

    /// Applies the charges that the counts do not include yet, counts the attempt, and then compares the PINs.
    ///
    /// - Throws: ``StoreError/corrupt`` if the wallet names a later epoch than the store's.
    package func judge(
        _ attempts: inout KeptAttempts,
        _ state: WalletState,
        _ pinKeyID: PINKeyID,
        identity: Sealed,
        _ facts: StoreFacts
    ) throws(StoreError) -> Decision {
        if let revocation = state.revocation(isSolutionRevoked: facts.isSolutionRevoked) {
            return .rejected(.revoked(revocation))
        }
        guard self.namedKeyID == pinKeyID else { return .rejected(.pinKeyChanged(current: pinKeyID)) }
        // rule: store-old-pin-key-on-open-session
        guard self.identity.hasSameBytes(as: identity) else { return .rejected(.identityChanged) }
        // rule: store-restored-wallet-without-row-is-fresh
        let isBehind = attempts.enter(try state.missing(of: facts.charges), policy: self.policy)
        let before = attempts.record
        var (isJudged, hasKey) = (false, true)
        let verdict = attempts.record.judge(self.attemptID, policy: self.policy, now: self.now) {
            isJudged = true
            guard let pinKey = self.pinKey else {
                hasKey = false
                return false
            }
            return constantTimeEqual(self.candidate.bytes, pinKey.bytes)
        }
        // The caller drops the counts, so no PIN is counted that cannot be compared.
        guard hasKey else { return .rejected(.identityChanged) }  // rule: store-attempt-without-pin-key
        // rule: receipt-number-not-growing
        if isJudged { attempts.number &+= 1 }
        return .judged(
            Judgment(
                verdict: verdict,
                isJudged: isJudged,
                isChange: isJudged || attempts.record != before,
                entersEpoch: isBehind,
                before: before
            )
        )
    }
}

extension KeptAttempts {
    /// Applies the restore charges that the counts do not include yet; returns whether any charge applied.
    package mutating func enter(_ charges: ArraySlice<EpochCharge>, policy: AttemptPolicy) -> Bool {
        guard charges.contains(where: { $0.rule != .trust }) else { return false }
        self.record.enter(charges, policy: policy)
        return true
    }
}

/// A wallet's attempts in stored form: the record, the number of judged attempts, and a MAC over both.
///
/// The number is part of every receipt and never decreases. It also ensures that every judged attempt changes the page.
/// Without it, a right PIN for a wallet with no counted attempts would write nothing, so on a full disk only a right
/// PIN would be answered. Every other write changes the record itself.
///
/// Invariant (G3): a record that this server did not write for this wallet cannot be decoded. A flipped bit, another
/// wallet's record or zeros are treated as damage, never as fewer failures.
package struct KeptAttempts: Sendable {
    package var record = AttemptRecord()
    package var number: UInt64 = 0
    /// The form of the record, which only ``RewriteRecords`` changes.
    ///
    /// Invariant (G3, G4): a judged attempt is stored as wide as the one before, whatever its verdict.
    package var form: AttemptRecord.Form

    private static let numberByteCount = 8

    package init(as form: AttemptRecord.Form) { self.form = form }

    package init?(decoding bytes: [UInt8], of wallet: WalletID, by key: RecordKey) {
        guard let form = key.forms.first(where: { Self.byteCount(of: $0) == bytes.count }) else { return nil }
        let plain = [UInt8](bytes.dropLast(RecordKey.macByteCount))
        let mac = [UInt8](bytes.suffix(RecordKey.macByteCount))
        guard constantTimeEqual(key.mac(of: plain, of: wallet), mac) else { return nil }  // rule: store-record-altered
        guard let record = AttemptRecord(decoding: [UInt8](plain.prefix(form.byteCount)), as: form) else {
            return nil
        }
        (self.record, self.form) = (record, form)
        self.number = plain.suffix(Self.numberByteCount).bigEndian
    }

    /// Returns the counts that a session states, without the charges of epochs.
    package func counts(epoch: UInt64) -> AttemptCounts {
        AttemptCounts(
            number: self.number,
            wrongPINs: self.record.wrongPINs,
            lastWrong: self.record.lastWrong,
            epoch: epoch
        )
    }

    package static func byteCount(of form: AttemptRecord.Form) -> Int {
        form.byteCount + Self.numberByteCount + RecordKey.macByteCount
    }

    package func encoded(of wallet: WalletID, by key: RecordKey) -> [UInt8] {
        var bytes = self.record.encoded(as: self.form)  // rule: store-record-width-of-verdict
        bytes.append(bigEndian: self.number, byteCount: Self.numberByteCount)
        bytes += key.mac(of: bytes, of: wallet)
        return bytes
    }
}

/// The key for the MACs of attempt records, and the forms of these records.
///
/// The key is derived from the vault once at start, so PIN checks need no additional call to the vault. An attacker who
/// can write to the database but does not have the key cannot create or change a record. The attacker can only put back
/// an older record of the same wallet.
package final class RecordKey: Sendable {
    /// The length of a MAC.
    ///
    /// It is short because every judged attempt writes one. The only way to test a forged MAC is to present it to the
    /// server, which rejects and reports every attempt.
    static let macByteCount = 8

    private let key: HMACKey
    /// The forms that this program reads.
    let forms: [AttemptRecord.Form]
    /// The form of new records, to which all others are rewritten.
    package let form: AttemptRecord.Form

    /// - Parameters:
    ///   - forms: The forms that this program reads. During a rolling upgrade, servers of the previous version judge
    ///     from records in the new form, so a version that writes a form follows one that only reads it.
    ///   - form: The form that it writes.
    package init(
        _ key: consuming SecretBytes,
        reading forms: [AttemptRecord.Form] = [.first],
        writing form: AttemptRecord.Form = .first
    ) {
        self.key = HMACKey(key)
        (self.forms, self.form) = (forms, form)
        self.key.keepOutOfSwap()
    }

    /// Returns the MAC of a wallet's record, including its number of judged attempts.
    func mac(of record: [UInt8], of wallet: WalletID) -> [UInt8] {
        // rule: store-record-of-another-wallet
        self.key.code(of: wallet.bytes, record, byteCount: Self.macByteCount)  // rule: store-record-without-number
    }

    /// A value that identifies the key, so that a store can recognize it.
    package var check: [UInt8] {
        self.key.code(of: Array("remote-pin/1 check of a record key".utf8), byteCount: Self.macByteCount)
    }
}
