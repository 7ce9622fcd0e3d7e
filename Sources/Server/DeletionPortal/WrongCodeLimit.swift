internal import Synchronization
internal import Transport
internal import Vocabulary

/// A limit on wrong codes per source and hour.
///
/// Right codes are not counted. The limit only reduces the load. Security does not depend on it, because a code has 90
/// random bits and the server has its own limit. No limit applies across all sources, because an attacker could use it
/// to prevent an owner from deleting a wallet. Memory is bounded: under a flood of sources, the oldest records are
/// dropped, which can only allow more attempts.
final class WrongCodeLimit: Sendable {
    /// The number of wrong codes from a source that are looked up.
    static let allowed = 10
    /// The period during which a wrong code counts.
    static let window: Duration = .seconds(3600)
    /// The time to wait before retrying if unanswered attempts take up all slots.
    private static let shortly: Duration = .seconds(10)

    private struct Record {
        /// The times of wrong codes, oldest first.
        ///
        /// Contains at most ``WrongCodeLimit/allowed`` times.
        var wrong: [Timestamp] = []
        /// The number of pending lookups.
        ///
        /// Each takes up a slot, so that concurrent attempts are counted as well.
        var pending = 0
    }

    private let capacity: Int
    private let records = Mutex<[PeerSource: Record]>([:])

    /// - Parameter capacity: The maximum number of records, not counting those with a pending lookup.
    init(capacity: Int = 50_000) { self.capacity = capacity }

    /// The number of records.
    var count: Int { self.records.withLock { $0.count } }

    /// Returns the time at which the source may try again, or nil if it may try now.
    func refusal(of source: PeerSource, at now: Timestamp) -> Timestamp? {
        self.records.withLock { records in records[source].flatMap { Self.refusal($0, at: now) } }
    }

    /// Reserves a slot for an attempt until ``end(_:at:wasWrong:)`` is called.
    ///
    /// Returns the retry time if no slot is free.
    func begin(_ source: PeerSource, at now: Timestamp) -> Timestamp? {
        self.records.withLock { records in
            var record = records[source] ?? Record()
            if let until = Self.refusal(record, at: now) { return until }
            if records[source] == nil { self.makeRoom(in: &records, at: now) }
            record.wrong.removeAll { !Self.counts($0, at: now) }
            record.pending += 1
            records[source] = record
            return nil
        }
    }

    /// Ends an attempt.
    ///
    /// Counts it if the code was wrong.
    func end(_ source: PeerSource, at now: Timestamp, wasWrong: Bool) {
        self.records.withLock { records in
            guard var record = records[source], record.pending > 0 else { return }
            record.pending -= 1
            if wasWrong { record.wrong.append(now) }
            records[source] = record.pending == 0 && record.wrong.isEmpty ? nil : record
        }
    }

    private static func counts(_ wrong: Timestamp, at now: Timestamp) -> Bool { wrong + Self.window > now }

    private static func refusal(_ record: Record, at now: Timestamp) -> Timestamp? {
        let wrong = record.wrong.filter { Self.counts($0, at: now) }
        if wrong.count >= Self.allowed { return wrong[wrong.count - Self.allowed] + Self.window }
        return wrong.count + record.pending >= Self.allowed ? now + Self.shortly : nil
    }

    /// Drops expired records.
    ///
    /// If that is not enough, also drops the records with the oldest wrong codes, up to an eighth of the capacity.
    private func makeRoom(in records: inout [PeerSource: Record], at now: Timestamp) {
        guard records.count >= self.capacity else { return }
        records = records.filter { _, record in
            record.pending > 0 || record.wrong.contains { Self.counts($0, at: now) }
        }
        guard records.count >= self.capacity else { return }
        let resting = records.filter { $0.value.pending == 0 }
        let oldest = resting.sorted { ($0.value.wrong.last ?? now) < ($1.value.wrong.last ?? now) }
        for (source, _) in oldest.prefix(max(1, self.capacity / 8)) { records[source] = nil }
    }
}
