package import Vocabulary

/// The wrong PINs of a wallet since the last correct one.
///
/// The attempt is counted before the PIN is judged, and the count is reset only if the PIN turns out to be correct. The
/// caller must make the updated record durable before any client learns the verdict (G4).
/// ``judge(_:policy:now:isRight:)`` is the only place that implements this order.
///
/// A permanent block and the end of a block are stored as facts. Neither is recomputed from the count, so changing the
/// policy cannot unblock a wallet.
package struct AttemptRecord: Hashable, Sendable {
    /// A period during which PINs are not judged.
    package struct Block: Hashable, Sendable {
        /// The time at which PINs are judged again.
        package let end: Timestamp
        /// The length that the policy specified when the block started, always greater than zero.
        package let length: Duration

        /// Creates a block that starts at `now`, or returns nil if `length` is less than a millisecond.
        init?(of length: Duration, from now: Timestamp) {
            guard length >= .milliseconds(1) else { return nil }
            self.init(end: now + length, length: length)
        }

        init(end: Timestamp, length: Duration) {
            self.end = end
            self.length = length
        }
    }

    /// The number of wrong PINs since the last correct one, capped at ``mostFailures``.
    package internal(set) var failures = 0
    /// The block caused by the last wrong PIN.
    ///
    /// It may be over by now.
    package internal(set) var block: Block?
    /// Whether the wallet is permanently blocked, in which case no PIN is ever judged again.
    package internal(set) var isBlockedPermanently = false
    /// The id of the last attempt that was counted, kept so that repeating its message costs nothing.
    package internal(set) var lastWrongAttempt: AttemptID?
    /// The number of wrong PINs judged since the last correct one, excluding restore charges.
    ///
    /// Used only for receipts.
    package internal(set) var wrongPINs = 0
    /// The time of the last wrong PIN.
    package internal(set) var lastWrong: Timestamp?

    /// The largest count that fits in two bytes.
    ///
    /// No policy allows that many.
    package static let mostFailures = Int(UInt16.max)

    /// Creates an empty record.
    package init() {}

    /// Whether the record is equivalent to having no record.
    package var isEmpty: Bool { self == AttemptRecord() }
}

extension AttemptRecord {
    /// Permission to judge a PIN, or the answer to give without judging it.
    package enum Charge: Hashable, Sendable {
        /// The attempt is counted, and the PIN may be judged.
        case granted
        /// The PIN must not be judged, and nothing was counted.
        ///
        /// The answer depends only on the current state.
        case refused(PINVerdict)
    }

    /// Counts one attempt, unless the wallet is blocked.
    ///
    /// Repeating the last wrong attempt returns the same verdict, even with a different PIN. An attempt id can
    /// therefore never be used to get more than one answer.
    package mutating func charge(_ attempt: AttemptID, policy: AttemptPolicy, now: Timestamp) -> Charge {
        self.holdBlockToItsLength(now: now)
        switch self.state(policy: policy, now: now) {
        case .blockedPermanently: return .refused(.blockedPermanently)
        case .blocked(let remaining): return .refused(.blocked(remaining: remaining))
        case .open where self.lastWrongAttempt == attempt:
            return .refused(.wrong(self.state(policy: policy, now: now)))
        case .open:
            self.failures = min(self.failures + 1, Self.mostFailures)
            self.lastWrongAttempt = attempt
            self.isBlockedPermanently = self.failures >= policy.allowance
            self.block = self.isBlockedPermanently ? nil : Block(of: policy.block(after: self.failures), from: now)
            return .granted
        }
    }

    /// Permanently blocks the wallet because an audit log says that it was blocked.
    ///
    /// Used by restores.
    package mutating func blockPermanently() {
        self.failures = max(self.failures, 1)
        self.isBlockedPermanently = true
        self.block = nil
    }

    /// Resets the record after a correct PIN.
    package mutating func acquit() {
        self = AttemptRecord()
    }

    /// Counts an attempt, judges it, and resets the count if the PIN was correct.
    ///
    /// This is the only place where these steps happen, and they always happen in this order. `isRight` is called at
    /// most once, after the attempt has been counted, and not at all if the attempt was not granted. The caller must
    /// store the changed record durably before disclosing the verdict, whatever it is.
    package mutating func judge(
        _ attempt: AttemptID,
        policy: AttemptPolicy,
        now: Timestamp,
        isRight: () -> Bool
    ) -> PINVerdict {
        switch self.charge(attempt, policy: policy, now: now) {
        case .refused(let verdict): return verdict
        case .granted:
            guard isRight() else {
                self.wrongPINs = min(self.wrongPINs + 1, Self.mostFailures)
                self.lastWrong = now
                return .wrong(self.state(policy: policy, now: now))
            }
            self.acquit()
            return .valid
        }
    }

    /// Returns the state of the wallet under a policy.
    ///
    /// If the policy now allows fewer attempts than have been counted, one attempt is left. A policy takes effect with
    /// the next judged attempt, so changing it never blocks a wallet by itself.
    package func state(policy: AttemptPolicy, now: Timestamp) -> PINState {
        if self.isBlockedPermanently { return .blockedPermanently }
        if let block = self.block, block.end > now { return .blocked(remaining: block.remaining(now: now)) }
        guard self.failures < policy.allowance else { return .open(attemptsLeft: 1, finalRound: true) }
        return .open(
            attemptsLeft: policy.attemptsPerRound - self.failures % policy.attemptsPerRound,
            finalRound: self.failures >= policy.allowance - policy.attemptsPerRound
        )
    }

    /// Shortens a block if the clock was set back, so that it does not end later than its length from now.
    ///
    /// Returns whether the record changed and must be stored. If it were not stored, the wait would start over each
    /// time the server starts with a wrong clock.
    @discardableResult
    package mutating func holdBlockToItsLength(now: Timestamp) -> Bool {
        guard let block = self.block, now + block.length < block.end else { return false }
        self.block = Block(end: now + block.length, length: block.length)
        return true
    }
}

extension AttemptRecord.Block {
    /// The remaining time, which never exceeds the length of the block, even if the clock was set back.
    fileprivate func remaining(now: Timestamp) -> Duration {
        now + self.length < self.end ? self.length : self.end - now
    }
}

extension AttemptPolicy {
    /// Returns the block that follows this many wrong PINs: zero within a round, or the policy's last block for any
    /// further rounds.
    func block(after failures: Int) -> Duration {
        guard failures.isMultiple(of: self.attemptsPerRound), let last = self.blocks.last else { return .zero }
        let round = failures / self.attemptsPerRound
        return round <= self.blocks.count ? self.blocks[round - 1] : last
    }
}

/// The stored form of a record, which is always as long as the form says.
///
///     0       number of the form
///     1       bit 0: permanently blocked · bit 1: a block exists · bit 2: a last wrong attempt exists
///     2–3     wrong PINs since the last right one
///     4–11    end of the block, milliseconds since 1970
///     12–19   length of the block, milliseconds
///     20–35   id of the last wrong attempt
///     36–37   wrong PINs that were judged since the last right one
///     38–45   time of the last of them, milliseconds since 1970
///     46–     zeros, in a wider form
///
/// Numbers are big-endian, and absent values are zero. Because the width is fixed, a full disk cannot reveal whether a
/// PIN was right.
extension AttemptRecord {
    /// A form of stored records.
    ///
    /// Each form is wider than the ones before it.
    package struct Form: Hashable, Comparable, Sendable {
        package let number: UInt8
        /// The length of every record in this form.
        package let byteCount: Int

        package init(number: UInt8, byteCount: Int) {
            (self.number, self.byteCount) = (number, byteCount)
        }

        package static let first = Form(number: 1, byteCount: 46)

        package static func < (left: Form, right: Form) -> Bool { left.number < right.number }
    }

    private static let permanentFlag: UInt8 = 1
    private static let blockFlag: UInt8 = 2
    private static let attemptFlag: UInt8 = 4
    private static let noAttempt = [UInt8](repeating: 0, count: 16)

    /// Encodes the record in its stored form.
    package func encoded(as form: Form = .first) -> [UInt8] {
        var flags: UInt8 = 0
        if self.isBlockedPermanently { flags |= Self.permanentFlag }
        if self.block != nil { flags |= Self.blockFlag }
        if self.lastWrongAttempt != nil { flags |= Self.attemptFlag }
        var bytes: [UInt8] = []
        // Leave room for the fields that the store appends.
        bytes.reserveCapacity(form.byteCount + 16)
        bytes.append(form.number)
        bytes.append(flags)
        bytes.append(bigEndian: UInt64(self.failures), byteCount: 2)
        bytes.append(bigEndian: UInt64(bitPattern: self.block?.end.milliseconds ?? 0), byteCount: 8)
        bytes.append(bigEndian: UInt64(bitPattern: self.block?.length.milliseconds ?? 0), byteCount: 8)
        bytes.append(contentsOf: self.lastWrongAttempt?.bytes ?? Self.noAttempt)
        bytes.append(bigEndian: UInt64(self.wrongPINs), byteCount: 2)
        bytes.append(bigEndian: UInt64(bitPattern: self.lastWrong?.milliseconds ?? 0), byteCount: 8)
        bytes.append(contentsOf: repeatElement(0, count: form.byteCount - bytes.count))
        return bytes
    }

    /// Decodes a record encoded by ``encoded(as:)``.
    ///
    /// Nothing else is accepted, because a damaged record must not be mistaken for one with fewer failures.
    package init?(decoding bytes: [UInt8], as form: Form = .first) {
        guard bytes.count == form.byteCount, bytes[0] == form.number else { return nil }
        let flags = bytes[1]
        guard flags & ~(Self.permanentFlag | Self.blockFlag | Self.attemptFlag) == 0 else { return nil }
        self.init()
        self.failures = Int(bytes[2..<4].bigEndian)
        self.isBlockedPermanently = flags & Self.permanentFlag != 0
        if flags & Self.blockFlag != 0 {
            let end = Int64(bitPattern: bytes[4..<12].bigEndian)
            let length = Int64(bitPattern: bytes[12..<20].bigEndian)
            guard length > 0 else { return nil }
            self.block = Block(end: Timestamp(milliseconds: end), length: .milliseconds(length))
        } else {
            guard Self.isZero(bytes[4..<20]) else { return nil }
        }
        if flags & Self.attemptFlag != 0 {
            self.lastWrongAttempt = AttemptID([UInt8](bytes[20..<36]))
        } else {
            guard Self.isZero(bytes[20..<36]) else { return nil }
        }
        // A record without failures has no other content.
        guard flags == 0 || self.failures > 0 else { return nil }
        self.wrongPINs = Int(bytes[36..<38].bigEndian)
        let lastWrong = Timestamp(milliseconds: Int64(bitPattern: bytes[38..<46].bigEndian))
        if self.wrongPINs > 0 { self.lastWrong = lastWrong } else if lastWrong.milliseconds != 0 { return nil }
        guard self.wrongPINs <= self.failures, Self.isZero(bytes[Form.first.byteCount...]) else { return nil }
    }

    private static func isZero(_ bytes: ArraySlice<UInt8>) -> Bool {
        var some: UInt8 = 0
        for byte in bytes { some |= byte }
        return some == 0
    }
}
