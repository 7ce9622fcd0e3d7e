package import PINPolicy
internal import Secrets
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

/// The rules for judging an attempt.
///
/// They apply to all stores and do not depend on storage.
extension Attempt {
    /// Returns the reason not to judge the attempt, or nil if it should be judged.
    @inline(__always)
    package func rejection(ended revocation: Revocation?, pinKeyID: PINKeyID, identity: Sealed) -> AttemptOutcome? {
        if let revocation { return .revoked(revocation) }
        guard self.namedKeyID == pinKeyID else { return .pinKeyChanged(current: pinKeyID) }
        guard self.identity.hasSameBytes(as: identity) else { return .identityChanged(identity) }
        return nil
    }

    /// Counts the attempt and then compares the PINs.
    @inline(__always)
    package func judge(_ attempts: inout KeptAttempts) -> Judgment {
        let before = attempts.record
        var isJudged = false
        let verdict = attempts.record.judge(self.attemptID, policy: self.policy, now: self.now) {
            isJudged = true
            return constantTimeEqual(self.candidate.bytes, self.pinKey.bytes)
        }
        if isJudged { attempts.number &+= 1 }
        return Judgment(verdict: verdict, isJudged: isJudged, before: before)
    }
}

extension KeptAttempts {
    /// Applies the restore charges that the counts do not include yet.
    ///
    /// Returns whether any charge applied.
    package mutating func enter(_ charges: ArraySlice<EpochCharge>, policy: AttemptPolicy) -> Bool {
        guard charges.contains(where: { $0.rule != .trust }) else { return false }
        self.record.enter(charges, policy: policy)
        return true
    }
}
