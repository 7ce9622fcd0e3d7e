internal import Synchronization
internal import Transport
internal import Vocabulary

/// The amount of each limited resource that a source has used.
///
/// Every connection holds its source's account, so a call requires no lookup and only one atomic exchange.
final class SourceAccount: Sendable {
    let source: PeerSource
    let calls = Bucket()
    let sessionCalls = Bucket()
    let enrollments = Bucket()
    let codes = Bucket()
    /// The allowance for log lines about refused calls.
    let refusalLines = Bucket()

    init(_ source: PeerSource) {
        self.source = source
    }

    /// Takes one use of a limit, or returns the time to wait if none is left.
    func take(_ limit: SourceLimit, _ rules: SourceLimits, at now: Timestamp) -> Duration? {
        switch limit {
        case .calls: self.calls.take(rules.calls, at: now)
        case .sessionCalls: self.sessionCalls.take(rules.calls, at: now)
        case .enrollments: self.enrollments.take(rules.enrollments, at: now)
        case .codes: self.codes.take(rules.codes, at: now)
        }
    }

    /// Returns the part of a limit's burst that is used.
    func used(_ limit: SourceLimit, _ rules: SourceLimits, at now: Timestamp) -> Int {
        switch limit {
        case .calls: self.calls.used(rules.calls, at: now)
        case .sessionCalls: self.sessionCalls.used(rules.calls, at: now)
        case .enrollments: self.enrollments.used(rules.enrollments, at: now)
        case .codes: self.codes.used(rules.codes, at: now)
        }
    }

    /// Returns the number of microseconds until the account is equal to that of a source that has never called.
    func debt(at now: Timestamp, _ limits: SourceLimits) -> Int64 {
        max(
            self.calls.debt(limits.calls, at: now),
            self.sessionCalls.debt(limits.calls, at: now),
            self.enrollments.debt(limits.enrollments, at: now),
            self.codes.debt(limits.codes, at: now),
            self.refusalLines.debt(RefusalLogLimiter.ofSource, at: now)
        )
    }
}

/// A source's allowance for one resource, stored as the time at which it is fully restored.
///
/// Each use moves that time forward by the time it takes to restore one use. A use is rejected if the time would then
/// be more than a whole burst ahead (the generic cell rate algorithm, ITU-T I.371). No counter has to be refilled, and
/// no lock is needed.
struct Bucket: ~Copyable, Sendable {
    private let fullAt = Atomic<Int64>(.min)

    /// Takes one use.
    ///
    /// If none is left, returns the time to wait.
    func take(_ allowance: Allowance?, at now: Timestamp) -> Duration? {
        guard let allowance else { return nil }
        let (now, step) = (Self.microseconds(now), allowance.microsecondsEach)
        let room = Self.room(of: allowance)
        var seen = self.fullAt.load(ordering: .relaxed)
        while true {
            // A source never owes more than a whole burst, even if the clock was set back or the burst was longer
            // before.
            let owed = min(max(seen, now), now + room)
            let next = owed + step
            guard next <= now + room else {
                // Store the limited value, so that the wait returned below is correct. If another call came first, it
                // has stored the same value.
                if seen > owed { _ = self.fullAt.compareExchange(expected: seen, desired: owed, ordering: .relaxed) }
                return .microseconds(next - now - room)
            }
            let (exchanged, original) = self.fullAt.compareExchange(expected: seen, desired: next, ordering: .relaxed)
            if exchanged { return nil }
            seen = original
        }
    }

    /// Returns the number of microseconds until the allowance is fully restored.
    func debt(_ allowance: Allowance?, at now: Timestamp) -> Int64 {
        guard let allowance else { return 0 }
        let now = Self.microseconds(now)
        return min(max(self.fullAt.load(ordering: .relaxed), now) - now, Self.room(of: allowance))
    }

    /// Returns the number of uses that are not yet restored.
    func used(_ allowance: Allowance?, at now: Timestamp) -> Int {
        guard let each = allowance?.microsecondsEach else { return 0 }
        return Int((self.debt(allowance, at: now) + each - 1) / each)
    }

    private static func room(of allowance: Allowance) -> Int64 {
        let (room, overflow) = allowance.microsecondsEach.multipliedReportingOverflow(by: Int64(allowance.burst))
        return overflow ? Int64.max / 4 : min(room, Int64.max / 4)
    }

    /// Converts a time to microseconds, clamped to a range in which no addition overflows.
    private static func microseconds(_ time: Timestamp) -> Int64 {
        let limit = Int64.max / 4
        let (microseconds, overflow) = time.milliseconds.multipliedReportingOverflow(by: 1000)
        return overflow ? (time.milliseconds < 0 ? -limit : limit) : min(max(microseconds, -limit), limit)
    }
}
