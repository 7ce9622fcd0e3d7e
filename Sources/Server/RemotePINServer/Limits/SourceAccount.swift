internal import Synchronization
internal import Transport
internal import Vocabulary

/// What one source has had of everything that is limited.
///
/// Every connection holds its source's account, so that a call looks nothing up: it pays for one atomic exchange.
final class SourceAccount: Sendable {
    let source: PeerSource
    let calls = Bucket()
    let sessionCalls = Bucket()
    let enrollments = Bucket()
    let codes = Bucket()
    /// Lines about its refused calls.
    let refusalLines = Bucket()

    init(_ source: PeerSource) {
        self.source = source
    }

    /// After how long nothing more is known of the source than of one that never came.
    func debt(at now: Timestamp, _ limits: SourceLimits) -> Int64 {
        max(
            self.calls.debt(limits.calls, at: now),
            self.sessionCalls.debt(limits.calls, at: now),
            self.enrollments.debt(limits.enrollments, at: now),
            self.codes.debt(limits.codes, at: now),
            self.refusalLines.debt(RefusalLines.ofSource, at: now)
        )
    }
}

/// One allowance of one source, as a single number: the time at which all of it is there again.
///
/// What is taken moves that time on by what one costs; nothing can be taken that would move it further than a whole burst
/// from now (the generic cell rate algorithm, ITU-T I.371). So there is no count to be refilled and no lock.
struct Bucket: ~Copyable, Sendable {
    private let fullAt = Atomic<Int64>(.min)

    /// Takes one; how long to wait where there is none.
    func take(_ allowance: Allowance?, at now: Timestamp) -> Duration? {
        guard let allowance else { return nil }
        let (now, step) = (Self.microseconds(now), allowance.microsecondsEach)
        let room = Self.room(of: allowance)
        var seen = self.fullAt.load(ordering: .relaxed)
        while true {
            // Where the clock was set back, nobody owes more than a whole burst.
            let next = min(max(seen, now), now + room) + step
            guard next <= now + room else { return .microseconds(next - now - room) }
            let (exchanged, original) = self.fullAt.compareExchange(expected: seen, desired: next, ordering: .relaxed)
            if exchanged { return nil }
            seen = original
        }
    }

    /// Microseconds until all of it is there again.
    func debt(_ allowance: Allowance?, at now: Timestamp) -> Int64 {
        guard let allowance else { return 0 }
        let now = Self.microseconds(now)
        return min(max(self.fullAt.load(ordering: .relaxed), now) - now, Self.room(of: allowance))
    }

    private static func room(of allowance: Allowance) -> Int64 {
        let (room, overflow) = allowance.microsecondsEach.multipliedReportingOverflow(by: Int64(allowance.burst))
        return overflow ? Int64.max / 4 : min(room, Int64.max / 4)
    }

    /// Kept far from both ends of the numbers, so that nothing that is added overflows.
    private static func microseconds(_ time: Timestamp) -> Int64 {
        let limit = Int64.max / 4
        let (microseconds, overflow) = time.milliseconds.multipliedReportingOverflow(by: 1000)
        return overflow ? (time.milliseconds < 0 ? -limit : limit) : min(max(microseconds, -limit), limit)
    }
}
