internal import Synchronization
internal import Transport
internal import Vocabulary

/// How often one source may try deletion codes; for load only.
///
/// A code has 90 random bits, so nobody finds one by trying; and no limit is kept over all sources together, or whoever
/// used it up would stop an owner's revocation (G8).
final class SourceLimiter: Sendable {
    private struct Bucket {
        var tokens: Int
        var refilledAt: Timestamp
    }

    /// Tries at once; one more comes back each ``refill``.
    private let burst: Int
    private let refill: Duration
    /// Sources remembered; when there are more all are forgotten, which only ever allows more.
    private let capacity: Int
    private let buckets = Mutex<[PeerSource: Bucket]>([:])

    init(burst: Int = 20, refill: Duration = .seconds(1), capacity: Int = 10_000) {
        self.burst = burst
        self.refill = refill
        self.capacity = capacity
    }

    /// Takes one try; how long to wait where there is none.
    func take(from source: PeerSource, at now: Timestamp) -> Duration? {
        self.buckets.withLock { buckets in
            if buckets.count >= self.capacity, buckets[source] == nil { buckets.removeAll(keepingCapacity: true) }
            var bucket = buckets[source] ?? Bucket(tokens: self.burst, refilledAt: now)
            let passed = max(0, (now - bucket.refilledAt).milliseconds / self.refill.milliseconds)
            if passed > 0 {
                bucket.tokens = Int(min(Int64(self.burst), Int64(bucket.tokens) + passed))
                bucket.refilledAt = now
            }
            defer { buckets[source] = bucket }
            guard bucket.tokens > 0 else { return self.refill }
            bucket.tokens -= 1
            return nil
        }
    }
}
