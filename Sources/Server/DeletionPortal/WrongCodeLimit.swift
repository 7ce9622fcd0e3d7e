internal import Synchronization
internal import Transport
internal import Vocabulary

/// How many wrong codes one source may type in an hour; right ones are not counted.
///
/// For load and for peace of mind: nobody finds 90 random bits by trying, and the server has a limit of its own. So there
/// is none over all sources together, with which somebody could keep an owner from deleting the wallet, and what is
/// remembered is bounded: under a flood of sources the oldest are forgotten, which only ever allows more.
final class WrongCodeLimit: Sendable {
    /// Wrong codes that are looked at.
    static let allowed = 10
    /// How long each of them counts.
    static let window: Duration = .seconds(3600)
    /// When to come back where the places are taken by tries that have no answer yet.
    private static let shortly: Duration = .seconds(10)

    private struct Record {
        /// When wrong codes were typed, oldest first; at most ``WrongCodeLimit/allowed``.
        var wrong: [Timestamp] = []
        /// Codes that are being looked up; each holds a place, so that tries at the same moment are counted, too.
        var pending = 0
    }

    private let capacity: Int
    private let records = Mutex<[PeerSource: Record]>([:])

    /// - Parameter capacity: sources remembered at most, beside those with a try under way.
    init(capacity: Int = 50_000) {
        self.capacity = capacity
    }

    /// Sources remembered.
    var count: Int { self.records.withLock { $0.count } }

    /// When the source may try again; nil where it may now.
    func refusal(of source: PeerSource, at now: Timestamp) -> Timestamp? {
        self.records.withLock { records in records[source].flatMap { Self.refusal($0, at: now) } }
    }

    /// Takes a place for one try, which ``end(_:of:wasWrong:)`` gives back; when to come back where there is none.
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

    /// A try has its answer.
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

    /// Forgets what no longer counts, and where that is not enough, the eighth that was wrong longest ago.
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
